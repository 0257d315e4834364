#!/usr/bin/env bash
# Runs this example on 4 ranks: examples/tucker-image/run.sh [BUILD_DIR]
exec "$(dirname "${BASH_SOURCE[0]}")/../run.sh" tucker-image "$@"
