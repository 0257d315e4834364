//===- BoxFile.h - boxes of an array in a file, by one rank -----------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_BOXFILE_H
#define EINSUMC_RUNTIME_BOXFILE_H

#include "FileArray.h"

#include <string>
#include <string_view>

namespace einsumc {

/// The bytes of a box of an array in a file, row by row. Runs that lie close together are read at
/// once, with what is between them.
/// \throws Error naming the file
std::string readBox(const std::string &file, const FileArray &array, const Box &box);

/// Writes a box of an array into a file that exists.
/// \param bytes of the box, row by row
/// \throws Error naming the file
void writeBox(const std::string &file, const FileArray &array, const Box &box,
              std::string_view bytes);

} // namespace einsumc

#endif // EINSUMC_RUNTIME_BOXFILE_H
