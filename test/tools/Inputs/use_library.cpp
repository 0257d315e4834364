// Evaluates a library made by `einsumc --library` from product.ein for 3 ranks as a foreign
// program would: on a part of its ranks in another order, twice with different inputs.

#include "product.h"

#include <einsumc/einsumc.h>

#include <omp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr int64_t kK = 4; // of product.ein

double elementA(int64_t i, int64_t k, int run) { return static_cast<double>(3 * i - 2 * k + run); }
double elementB(int64_t k, int64_t j, int run) { return static_cast<double>(k * j - run * j + 1); }

template <class Value> void fill(std::span<float> block, const einsumc::Box &box, Value &&value) {
  std::size_t next = 0;
  for (int64_t row = box[0].begin; row < box[0].end; ++row)
    for (int64_t column = box[1].begin; column < box[1].end; ++column)
      block[next++] = static_cast<float>(value(row, column));
}

void require(bool condition, const std::string &what) {
  if (condition)
    return;
  std::fprintf(stderr, "%s\n", what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// The number of elements that this rank has checked.
int64_t evaluate(einsum_product::Evaluator &evaluator, int run) {
  fill(evaluator.input_A(), evaluator.input_A_box(),
       [&](int64_t i, int64_t k) { return elementA(i, k, run); });
  fill(evaluator.input_B(), evaluator.input_B_box(),
       [&](int64_t k, int64_t j) { return elementB(k, j, run); });
  evaluator.evaluate();
  const einsumc::Box box = evaluator.output_C_box();
  const std::span<const float> block = evaluator.output_C();
  std::size_t next = 0;
  for (int64_t i = box[0].begin; i < box[0].end; ++i)
    for (int64_t j = box[1].begin; j < box[1].end; ++j) {
      double expected = 0;
      for (int64_t k = 0; k < kK; ++k)
        expected += elementA(i, k, run) * elementB(k, j, run);
      require(block[next++] == static_cast<float>(expected), "C differs");
    }
  return einsumc::volume(box);
}

} // namespace

int main(int argc, char **argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 1 ? MPI_UNDEFINED : 0, -rank, &part);
  int64_t checked = 0;
  if (part != MPI_COMM_NULL) {
    einsum_product::Evaluator evaluator(part, 1);
    einsum_product::Evaluator ofMoreThreads(part, 3);
    for (const int run : {0, 1})
      checked += evaluate(evaluator, run);
    require(omp_get_max_threads() == 1, "evaluated with the threads of another evaluator");
    evaluate(ofMoreThreads, 2);
    MPI_Comm_free(&part);
  }
  int64_t all = 0;
  MPI_Allreduce(&checked, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);

  bool refused = false;
  try {
    const einsum_product::Evaluator onAllFour(MPI_COMM_WORLD);
  } catch (const einsumc::Error &) {
    refused = true;
  }
  require(refused, "4 ranks were accepted");
  if (rank == 0)
    std::printf("checked %lld elements\n", static_cast<long long>(all));
  MPI_Finalize();
}
