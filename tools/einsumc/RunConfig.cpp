//===- RunConfig.cpp - how --run compiles and launches a program ------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#include "tools/einsumc/RunConfig.h"

#include "RunConfigValues.h"

namespace einsumc {

namespace {

std::vector<std::string> strings(std::initializer_list<const char *> texts) {
  return {texts.begin(), texts.end()};
}

} // namespace

RunConfig runConfigOf(const std::filesystem::path &executable) {
  namespace values = run_config_values;
  RunConfig config{values::kMpiCxx,
                   values::kMpiExec,
                   strings(values::kMpiExecFlags),
                   strings(values::kCompileFlags),
                   {}};
  const std::filesystem::path directory = executable.parent_path();
  if (directory == std::filesystem::path(values::kBuildBinDir)) {
    for (const char *include : values::kBuildIncludeDirs)
      config.compileFlags.push_back(std::string("-I") + include);
    config.linkFlags.emplace_back(values::kBuildLibrary);
  } else {
    const auto installed = [&](const char *relative) {
      return (directory / relative).lexically_normal().string();
    };
    config.compileFlags.push_back("-I" + installed(values::kInstallIncludeDir));
    config.linkFlags.push_back(installed(values::kInstallLibrary));
  }
  config.linkFlags.insert(config.linkFlags.end(), values::kLibraries.begin(),
                          values::kLibraries.end());
  return config;
}

} // namespace einsumc
