//===- SimdVector.h - the vectors that hand-blocked kernels are written in --------------------===//
//
// Part of einsumc, under the Apache License v2.0.
//
// The vector extension of GCC and Clang gives arithmetic on every machine; only loads and stores
// of a part of a vector need the instructions of one.
//
//===------------------------------------------------------------------------------------------===//

#ifndef EINSUMC_RUNTIME_SIMDVECTOR_H
#define EINSUMC_RUNTIME_SIMDVECTOR_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace einsumc::simd {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
/// Vectors that a register-blocked kernel may keep sums in, which leaves some for its operands.
inline constexpr int kSums = 24;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
inline constexpr int kSums = 12;
#else
inline constexpr int kVectorBytes = 16;
inline constexpr int kSums = 12;
#endif

/// `Bytes / sizeof(T)` elements in one register. The attribute is spelt for each type because
/// compilers disagree on dependent ones.
template <class T, int Bytes> struct VectorOf;
template <int Bytes> struct VectorOf<float, Bytes> {
  using type [[gnu::vector_size(Bytes)]] = float;
  using Number = int32_t;
  using Index [[gnu::vector_size(Bytes)]] = int32_t;
};
template <int Bytes> struct VectorOf<double, Bytes> {
  using type [[gnu::vector_size(Bytes)]] = double;
  using Number = int64_t;
  using Index [[gnu::vector_size(Bytes)]] = int64_t;
};

template <class T> using Vector = typename VectorOf<T, kVectorBytes>::type;
template <class T> inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class V = void, class T> inline V loadAs(const T *source) {
  V result;
  std::memcpy(&result, source, sizeof(V));
  return result;
}
template <class T> inline Vector<T> load(const T *source) { return loadAs<Vector<T>>(source); }
/// All lanes the same. (Compilers know that to subtract 0 changes nothing.)
template <class T> inline Vector<T> broadcast(T value) { return value - Vector<T>{}; }
template <class T, class V> inline void store(T *target, V value) {
  std::memcpy(target, &value, sizeof(V));
}

/// Has a vector in a register from here on: compilers may otherwise load it again for each of a few
/// uses, and loads are then what a register-blocked kernel waits for.
template <class V> [[gnu::always_inline]] inline void keepInRegister([[maybe_unused]] V &value) {
#if defined(__AVX512F__)
  asm("" : "+v"(value));
#elif defined(__AVX__)
  asm("" : "+x"(value));
#endif
}

/// An element that is loaded or stored by itself: compilers make vectors of those of several steps
/// of a loop, whose places they look up, by gathers and scatters, which take longer than single
/// elements, on some of Intel's processors twice as long.
template <class T> [[gnu::always_inline]] inline T byItself(T element) {
  keepInRegister(element);
  return element;
}

/// Stores a vector without a copy in the caches where the machine can; endStoresPastCaches must
/// follow before other threads may see it. \pre target is aligned to the vector's size
template <class T, class V> inline void storePastCaches(T *target, V value) {
#ifdef __AVX512F__
  if constexpr (sizeof(V) == sizeof(__m512i))
    return _mm512_stream_si512(reinterpret_cast<__m512i *>(target),
                               reinterpret_cast<__m512i>(value));
#endif
#ifdef __AVX__
  if constexpr (sizeof(V) == sizeof(__m256i))
    return _mm256_stream_si256(reinterpret_cast<__m256i *>(target),
                               reinterpret_cast<__m256i>(value));
#endif
  store(target, value);
}
inline void endStoresPastCaches() {
#ifdef __AVX__
  _mm_sfence();
#endif
}

/// target = value, or target += value.
template <bool Accumulate, class T, class V> inline void put(T *target, V value) {
  store(target, Accumulate ? loadAs<V>(target) + value : value);
}

/// The lanes from First on, as a vector of \p Half bytes.
template <class T, int First, class V>
inline typename VectorOf<T, sizeof(V) / 2>::type halfOf(V value) {
  return [&]<int... Lane>(std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(value, value, (First + Lane)...);
  }(std::make_integer_sequence<int, sizeof(V) / 2 / sizeof(T)>());
}

/// A vector of the lanes of two, one after the other.
template <class T, class V> inline typename VectorOf<T, 2 * sizeof(V)>::type joined(V a, V b) {
#ifdef __AVX__
  // The second one may come from memory; compilers' shuffles load it first.
  if constexpr (sizeof(V) == sizeof(__m128d))
    return reinterpret_cast<typename VectorOf<T, 2 * sizeof(V)>::type>(_mm256_insertf128_pd(
        _mm256_castpd128_pd256(reinterpret_cast<__m128d>(a)), reinterpret_cast<__m128d>(b), 1));
#endif
  return [&]<int... Lane>(std::integer_sequence<int, Lane...>) {
    return __builtin_shufflevector(a, b, Lane...);
  }(std::make_integer_sequence<int, 2 * sizeof(V) / sizeof(T)>());
}

template <class T> constexpr auto laneNumbers() {
  std::array<typename VectorOf<T, kVectorBytes>::Number, kLanes<T>> numbers = {};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<typename VectorOf<T, kVectorBytes>::Number>(i);
  return numbers;
}

/// The lanes from \p first on, and then whatever.
template <class T> inline Vector<T> lanesFrom(Vector<T> value, int64_t first) {
#ifdef __AVX512F__
  using Index = typename VectorOf<T, kVectorBytes>::Index;
  static constexpr auto kNumbers = laneNumbers<T>();
  Index lane;
  std::memcpy(&lane, kNumbers.data(), sizeof(lane));
  lane += static_cast<typename VectorOf<T, kVectorBytes>::Number>(first);
  if constexpr (sizeof(T) == sizeof(float))
    return _mm512_maskz_permutexvar_ps(static_cast<__mmask16>(-1), reinterpret_cast<__m512i>(lane),
                                       value);
  else
    return _mm512_maskz_permutexvar_pd(static_cast<__mmask8>(-1), reinterpret_cast<__m512i>(lane),
                                       value);
#else
  T twice[2 * kLanes<T>];
  store(twice, value);
  store(twice + kLanes<T>, value);
  return load(twice + first);
#endif
}

/// The vector with its lanes from \p first on from memory.
template <class T> inline Vector<T> loadBehind(Vector<T> value, const T *source, int64_t first) {
  using Index = typename VectorOf<T, kVectorBytes>::Index;
  static constexpr auto kNumbers = laneNumbers<T>();
  Index lane;
  std::memcpy(&lane, kNumbers.data(), sizeof(lane));
  return lane < static_cast<typename VectorOf<T, kVectorBytes>::Number>(first) ? value
                                                                               : load(source);
}

/// The first `count` lanes of a vector, none to all of them: loads give 0 in the others, and
/// neither loads nor stores touch their memory.
template <class T> class LaneMask {
public:
  explicit LaneMask(int count);
  Vector<T> load(const T *source) const;
  /// The vector with 0 in the other lanes. A load and this are faster than a load of some lanes,
  /// which waits long for memory, but touch what follows.
  Vector<T> keep(Vector<T> value) const;
  /// The vector with its other lanes from memory, of which only these are touched.
  Vector<T> loadOthers(Vector<T> value, const T *source) const;
  /// The vector with another's other lanes.
  Vector<T> select(Vector<T> value, Vector<T> others) const;
  /// target = value, or target += value.
  template <bool Accumulate> void put(T *target, Vector<T> value) const {
    putFirst<Accumulate>(target, value);
  }

private:
  // Not by masked stores, which take AMD's processors before Zen 5 dozens of cycles.
  template <bool Accumulate, class V> void putFirst(T *target, V value) const {
    constexpr int kHalf = sizeof(V) / sizeof(T) / 2;
    if constexpr (kHalf == 1) {
      if (count & 1)
        target[0] = (Accumulate ? target[0] : T(0)) + value[0];
    } else if (count & kHalf) {
      simd::put<Accumulate>(target, halfOf<T, 0>(value));
      putFirst<Accumulate>(target + kHalf, halfOf<T, kHalf>(value));
    } else {
      putFirst<Accumulate>(target, halfOf<T, 0>(value));
    }
  }

  int count;
#if defined(__AVX512F__)
  uint32_t mask;
#elif defined(__AVX__)
  __m256i mask;
#endif
};

#if defined(__AVX512F__)
template <class T> LaneMask<T>::LaneMask(int count) : count(count), mask((1U << count) - 1U) {}
template <> inline Vector<float> LaneMask<float>::load(const float *source) const {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), source);
}
template <> inline Vector<double> LaneMask<double>::load(const double *source) const {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), source);
}
template <> inline Vector<float> LaneMask<float>::keep(Vector<float> value) const {
  return _mm512_maskz_mov_ps(static_cast<__mmask16>(mask), value);
}
template <> inline Vector<double> LaneMask<double>::keep(Vector<double> value) const {
  return _mm512_maskz_mov_pd(static_cast<__mmask8>(mask), value);
}
template <>
inline Vector<float> LaneMask<float>::loadOthers(Vector<float> value, const float *source) const {
  return _mm512_mask_loadu_ps(value, static_cast<__mmask16>(~mask), source);
}
template <>
inline Vector<double> LaneMask<double>::loadOthers(Vector<double> value,
                                                   const double *source) const {
  return _mm512_mask_loadu_pd(value, static_cast<__mmask8>(~mask), source);
}
template <>
inline Vector<float> LaneMask<float>::select(Vector<float> value, Vector<float> others) const {
  return _mm512_mask_blend_ps(static_cast<__mmask16>(mask), others, value);
}
template <>
inline Vector<double> LaneMask<double>::select(Vector<double> value, Vector<double> others) const {
  return _mm512_mask_blend_pd(static_cast<__mmask8>(mask), others, value);
}
#elif defined(__AVX__)
template <> inline LaneMask<float>::LaneMask(int count) : count(count) {
  const VectorOf<float, 32>::Index lane = {0, 1, 2, 3, 4, 5, 6, 7};
  mask = reinterpret_cast<__m256i>(lane < count);
}
template <> inline LaneMask<double>::LaneMask(int count) : count(count) {
  const VectorOf<double, 32>::Index lane = {0, 1, 2, 3};
  mask = reinterpret_cast<__m256i>(lane < count);
}
template <> inline Vector<float> LaneMask<float>::load(const float *source) const {
  return _mm256_maskload_ps(source, mask);
}
template <> inline Vector<double> LaneMask<double>::load(const double *source) const {
  return _mm256_maskload_pd(source, mask);
}
template <> inline Vector<float> LaneMask<float>::keep(Vector<float> value) const {
  return _mm256_and_ps(value, _mm256_castsi256_ps(mask));
}
template <> inline Vector<double> LaneMask<double>::keep(Vector<double> value) const {
  return _mm256_and_pd(value, _mm256_castsi256_pd(mask));
}
template <>
inline Vector<float> LaneMask<float>::select(Vector<float> value, Vector<float> others) const {
  return _mm256_blendv_ps(others, value, _mm256_castsi256_ps(mask));
}
template <>
inline Vector<double> LaneMask<double>::select(Vector<double> value, Vector<double> others) const {
  return _mm256_blendv_pd(others, value, _mm256_castsi256_pd(mask));
}
#else
template <class T> LaneMask<T>::LaneMask(int count) : count(count) {}
template <class T> Vector<T> LaneMask<T>::load(const T *source) const {
  Vector<T> result = {};
  for (int lane = 0; lane < kLanes<T>; ++lane)
    if (lane < count)
      result[lane] = source[lane];
  return result;
}
template <class T> Vector<T> LaneMask<T>::keep(Vector<T> value) const {
  for (int lane = 0; lane < kLanes<T>; ++lane)
    value[lane] = lane < count ? value[lane] : T(0);
  return value;
}
template <class T> Vector<T> LaneMask<T>::select(Vector<T> value, Vector<T> others) const {
  for (int lane = 0; lane < kLanes<T>; ++lane)
    value[lane] = lane < count ? value[lane] : others[lane];
  return value;
}
#endif

#ifndef __AVX512F__
template <class T> Vector<T> LaneMask<T>::loadOthers(Vector<T> value, const T *source) const {
  for (int lane = count; lane < kLanes<T>; ++lane)
    value[lane] = source[lane];
  return value;
}
#endif

} // namespace einsumc::simd

#endif // EINSUMC_RUNTIME_SIMDVECTOR_H
