/* How each vector unit compares: see `core.h`. The widest that the machine has is taken
 * when the module is loaded. */
#ifndef SYNCTAX_VARIANTS_H
#define SYNCTAX_VARIANTS_H

#include "keep.h"

#if !defined(__GNUC__)
#error "GCC or Clang is needed: synctax works without this module"
#endif

#if (defined(__x86_64__) || defined(_M_X64)) && !defined(SYNCTAX_PORTABLE)
#define SYNCTAX_X86 1
#include <immintrin.h>
#endif
#if defined(__aarch64__) && !defined(SYNCTAX_PORTABLE)
#define SYNCTAX_NEON 1
#include <arm_neon.h>
#endif

/* A signed "less than a blank" finds control characters and bytes beyond ASCII at once:
 * the latter are negative. */

#ifdef SYNCTAX_X86

#define VARIANT sse2 /* every 64-bit x86 has it */
#define STEP 16
#define LANE 1
#define TARGET
static inline TARGET uint64_t special_sse2(const char *at)
{
    __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i found = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('"')),
                                     _mm_cmpeq_epi8(text, _mm_set1_epi8('\\'))),
        _mm_cmplt_epi8(text, _mm_set1_epi8(' ')));
    return (uint32_t)_mm_movemask_epi8(found);
}
#include "core.h"

#define VARIANT avx512
#define STEP 64
#define LANE 1
#define TARGET __attribute__((target("avx512bw,avx512f,bmi,bmi2")))
static inline TARGET uint64_t special_avx512(const char *at)
{
    __m512i text = _mm512_loadu_si512((const void *)at);
    return _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('"'))
        | _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8('\\'))
        | _mm512_cmplt_epi8_mask(text, _mm512_set1_epi8(' '));
}
#include "core.h"

#define VARIANT avx2
#define STEP 32
#define LANE 1
#define TARGET __attribute__((target("avx2,bmi,bmi2")))
static inline TARGET uint64_t special_avx2(const char *at)
{
    __m256i text = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i found = _mm256_or_si256(
        _mm256_or_si256(_mm256_cmpeq_epi8(text, _mm256_set1_epi8('"')),
            _mm256_cmpeq_epi8(text, _mm256_set1_epi8('\\'))),
        _mm256_cmpgt_epi8(_mm256_set1_epi8(' '), text));
    return (uint32_t)_mm256_movemask_epi8(found);
}
#include "core.h"

#endif
#ifdef SYNCTAX_NEON

#define VARIANT neon /* every 64-bit Arm has it */
#define STEP 16
#define LANE 4
#define TARGET
static inline TARGET uint64_t special_neon(const char *at)
{
    int8x16_t text = vld1q_s8((const int8_t *)at);
    uint8x16_t found = vorrq_u8(
        vorrq_u8(vceqq_s8(text, vdupq_n_s8('"')), vceqq_s8(text, vdupq_n_s8('\\'))),
        vcltq_s8(text, vdupq_n_s8(' ')));
    /* there is no movemask: a narrowing shift leaves four bits of each byte */
    return vget_lane_u64(
        vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(found), 4)), 0);
}
#include "core.h"

#endif

#define VARIANT portable
#define STEP 8
#define LANE 8
#define TARGET
#define EACH(mark) (0x0101010101010101u * (uint64_t)(mark))
static inline TARGET uint64_t special_portable(const char *at)
{
#if LITTLE_ENDIAN_MACHINE
    /* the high bit of a byte tells; above the first that is right, others may be wrong
     * (a borrow), and only the first is looked at */
    uint64_t text = load64(at), quote = text ^ EACH('"'), back = text ^ EACH('\\');
    return (((quote - EACH(1)) & ~quote) | ((back - EACH(1)) & ~back)
               | ((text - EACH(' ')) & ~text) | text)
        & EACH(0x80);
#else
    uint64_t mask = 0;
    for (int i = 7; i >= 0; i--)
        mask = mask << 8
            | (uint64_t)(at[i] == '"' || at[i] == '\\' || (byte)at[i] < ' '
                  || (byte)at[i] >= 0x80) << 7;
    return mask;
#endif
}
#include "core.h"

typedef int Scan(State *state, const char **at, const char *end);

typedef struct {
    const char *name;
    Scan *scan;
} Variant;

/* From the widest to the one that works everywhere. */
static int variants_here(Variant *found)
{
    int count = 0;
#ifdef SYNCTAX_X86
    __builtin_cpu_init();
    int bits = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (bits && __builtin_cpu_supports("avx512bw"))
        found[count++] = (Variant){"avx512", scan_avx512};
    if (bits && __builtin_cpu_supports("avx2"))
        found[count++] = (Variant){"avx2", scan_avx2};
    found[count++] = (Variant){"sse2", scan_sse2};
#endif
#ifdef SYNCTAX_NEON
    found[count++] = (Variant){"neon", scan_neon};
#endif
    found[count++] = (Variant){"portable", scan_portable};
    return count;
}

#endif
