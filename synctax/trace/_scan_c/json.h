/* JSON's small parts, by its letter: white space, numbers, escapes, UTF-8.
 *
 * The text ends with a NUL that is no part of it (`scan` puts it there), and 64 bytes more
 * may be read behind it. A NUL is valid nowhere, so every loop ends there by itself and no
 * step asks whether the text is at its end. A function that cannot go on returns the place:
 * if that is the end, more text may help; anywhere else the text is not for this scanner.
 */
#ifndef SYNCTAX_JSON_H
#define SYNCTAX_JSON_H

#include "state.h"

typedef unsigned char byte;

enum { ODD_ESCAPE = 1, ODD_UNICODE = 2, ODD_HIGH = 4 };

static inline int is_digit(char mark) { return (byte)(mark - '0') < 10; }

/* Whether all eight are digits; and what they are worth. */
static inline int eight_digits(uint64_t word)
{
    return ((word & 0xf0f0f0f0f0f0f0f0u)
        | (((word + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4))
        == 0x3333333333333333u;
}

#if LITTLE_ENDIAN_MACHINE
/* Pairs, then fours, then all eight: three multiplications in place of eight. */
static inline uint64_t worth_of_eight(uint64_t word)
{
    word -= 0x3030303030303030u;
    word = word * 10 + (word >> 8);
    return (((word & 0x000000ff000000ffu) * 0x000f424000000064u)
        + (((word >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >> 32;
}
#endif

static inline const char *digits(const char *at)
{
    while (eight_digits(load64(at)))
        at += 8;
    while (is_digit(*at))
        at++;
    return at;
}

/* What so many digits are worth: at most 19. */
static inline uint64_t worth(const char *at, size_t count)
{
    uint64_t number = 0;
#if LITTLE_ENDIAN_MACHINE
    for (; count >= 8; at += 8, count -= 8)
        number = number * 100000000u + worth_of_eight(load64(at));
#endif
    for (; count; at++, count--)
        number = number * 10 + (uint64_t)(*at - '0');
    return number;
}

/* Pass a number; `*type` is 0 where it is none. */
static inline const char *number(const char *at, uint8_t *type)
{
    at += *at == '-';
    if (*at == '0')
        at++;
    else if (is_digit(*at))
        at = digits(at);
    else
        return *type = 0, at;
    *type = V_WHOLE;
    if (*at == '.') {
        if (!is_digit(*++at))
            return *type = 0, at;
        at = digits(at);
        *type = V_DECIMAL;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        if (!is_digit(*at))
            return *type = 0, at;
        at = digits(at);
        *type = V_EXPONENT;
    }
    return at;
}

static inline const char *literal(const char *at, uint8_t *type)
{
    const char *word = *at == 't' ? "true" : *at == 'f' ? "false" : "null";
    for (; *word; word++, at++)
        if (*at != *word)
            return *type = 0, at;
    *type = V_LITERAL;
    return at;
}

/* Pass bytes beyond ASCII: well-formed UTF-8 only (Unicode standard, table 3-7).
 * Where they are not, the place is of the first byte that cannot stand there. */
static const char *beyond_ascii(const char *from, int *bad)
{
    const byte *at = (const byte *)from;
    while (*at >= 0x80) {
        byte low = 0x80, high = 0xbf;
        int rest;
        if (*at >= 0xc2 && *at <= 0xdf) {
            rest = 1;
        } else if (*at >= 0xe0 && *at <= 0xef) {
            rest = 2;
            low = *at == 0xe0 ? 0xa0 : 0x80;   /* no overlong form */
            high = *at == 0xed ? 0x9f : 0xbf;  /* no surrogate */
        } else if (*at >= 0xf0 && *at <= 0xf4) {
            rest = 3;
            low = *at == 0xf0 ? 0x90 : 0x80;
            high = *at == 0xf4 ? 0x8f : 0xbf;  /* not beyond U+10FFFF */
        } else {
            return *bad = 1, (const char *)at;
        }
        for (at++; rest; rest--, at++) {
            if (*at < low || *at > high)
                return *bad = 1, (const char *)at;
            low = 0x80;
            high = 0xbf;
        }
    }
    return (const char *)at;
}

/* Pass what stands in a text and is not plain; `*bad` where that cannot be. */
static const char *odd_part(const char *at, unsigned *odd, int *bad)
{
    if (*at == '\\') {
        at++;
        switch (*at) {
        case 'u':
            *odd |= ODD_UNICODE;
            return *bad = 1, at; /* may be half a surrogate pair: left to Python */
        case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
            *odd |= ODD_ESCAPE;
            return at + 1;
        default:
            return *bad = 1, at;
        }
    }
    if ((byte)*at < 0x20)
        return *bad = 1, at;
    *odd |= ODD_HIGH;
    return beyond_ascii(at, bad);
}

/* Microseconds to ns, half to even, of a number of a trace: "1712195495505582.988".
 * 0 where it is not one of this form or beyond the limit of times. */
static inline int nanoseconds(const Value *value, int64_t *ns)
{
    const char *at = value->at, *end = at + value->length, *dot = digits(at);
    size_t whole = (size_t)(dot - at);
    if (!whole || whole > 16) /* what 16 digits are worth in ns, 64 bits can hold */
        return 0;
    uint64_t time = worth(at, whole) * 1000;
    if (dot != end) {
        static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000,
            10000000, 100000000, 1000000000, 10000000000u, 100000000000u, 1000000000000u,
            10000000000000u, 100000000000000u, 1000000000000000u};
        size_t decimals = (size_t)(end - dot - 1);
        if (decimals > 15)
            return 0;
        uint64_t fraction = worth(dot + 1, decimals);
        if (decimals <= 3) {
            time += fraction * power[3 - decimals];
        } else {
            uint64_t unit = power[decimals - 3], rest = fraction % unit, half = unit / 2;
            time += fraction / unit;
            time += rest > half || (rest == half && (time & 1));
        }
    }
    if (time >= (uint64_t)1 << 62)
        return 0;
    *ns = (int64_t)time;
    return 1;
}

/* An integer of at most 18 digits; 0 for anything else ("-0" is a float to some). */
static inline int integer(const Value *value, int64_t *number)
{
    const char *at = value->at;
    size_t length = value->length;
    int negative = *at == '-';
    at += negative;
    length -= (size_t)negative;
    if (value->type != V_WHOLE || length > 18 || (negative && *at == '0'))
        return 0;
    int64_t size = (int64_t)worth(at, length);
    *number = negative ? -size : size;
    return 1;
}

/* An integer from 0 to 2^64 - 1. */
static inline int natural(const Value *value, uint64_t *number)
{
    size_t length = value->length;
    if (value->type != V_WHOLE || *value->at == '-' || length > 20)
        return 0;
    if (length < 20) {
        *number = worth(value->at, length);
        return 1;
    }
    uint64_t high = worth(value->at, 19), last = (uint64_t)(value->at[19] - '0');
    if (high > 1844674407370955161u || (high == 1844674407370955161u && last > 5))
        return 0;
    *number = high * 10 + last;
    return 1;
}

#endif
