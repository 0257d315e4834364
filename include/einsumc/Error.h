//===- Error.h - what goes wrong at run time --------------------------------------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_ERROR_H
#define EINSUMC_ERROR_H

#include <stdexcept>
#include <string>

namespace einsumc {

/// An error that this rank alone may have seen. Leaving `main` through it ends all ranks.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// An error that every rank throws with the same text (a wrong argument, a file that one rank
/// could not read, once the ranks have agreed on it): it is printed once, by rank 0.
class CollectiveError : public Error {
public:
  using Error::Error;
};

} // namespace einsumc

#endif // EINSUMC_ERROR_H
