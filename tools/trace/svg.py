"""The text of a drawing as SVG, for the scripts of this project that draw."""

import re
from html import escape

STYLE = """
text { font-family: system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif;
       font-size: 10px; fill: #33404d; }
.title { font-size: 16px; font-weight: 600; fill: #15202b; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.grid { stroke: #c9d0d8; stroke-width: 1; stroke-opacity: 0.6; }
"""


class Canvas:
    """Text of an SVG, which grows downwards."""

    def __init__(self, rules=""):
        """Its texts and lines may have the classes above and those of further CSS rules."""
        self.rules = rules
        self.parts = []

    def add(self, text):
        self.parts.append(text)

    def rect(self, x, y, width, height, title="", style=""):
        tooltip = f"<title>{xml(title)}</title>" if title else ""
        self.add(
            f'<rect x="{x:.2f}" y="{y:.1f}" width="{max(width, 0.6):.2f}" height="{height:.1f}"'
            f"{style}>{tooltip}</rect>"
        )

    def line(self, x0, y0, x1, y1, style):
        self.add(f'<line class="{style}" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>')

    def text(self, x, y, text, style="", title=""):
        tooltip = f"<title>{xml(title)}</title>" if title else ""
        self.add(f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{xml(text)}{tooltip}</text>')

    def svg(self, width, height):
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
            f'viewBox="0 0 {width} {height:.0f}">\n<style>{STYLE}{self.rules}</style>\n'
            '<rect width="100%" height="100%" fill="#ffffff"/>'
        )
        return "\n".join([head, *self.parts, "</svg>\n"])


def xml(text):
    """Names are the user's: what XML does not allow at all is replaced."""
    return re.sub("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", escape(text))
