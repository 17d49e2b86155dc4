/* Arrays that grow, and a dictionary of byte strings that numbers them 0, 1, ...
 *
 * Nothing here is called while text is scanned: the scanner stops where room runs out,
 * says so, and is called again after `grow`. So its loop allocates nothing.
 */
#ifndef SYNCTAX_MEMORY_H
#define SYNCTAX_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef FIRST_ROOM
#define FIRST_ROOM 1024        /* rows, and texts of a dictionary: a power of two */
#define FIRST_TEXT (1 << 16)   /* bytes */
#endif

/* One column: `size` entries of `width` bytes, room for `room`. */
typedef struct {
    void *data; /* aligned for any type */
    size_t width;
} Column;

/* Columns of equal length, which grow together. */
typedef struct {
    Column *columns;
    int count;
    size_t size, room;
} Table;

/* By a sixteenth, as the Python reader's columns do: the peak is hardly more than the data. */
static int table_grow(Table *table)
{
    size_t room = table->room + table->room / 16;
    if (room < FIRST_ROOM)
        room = FIRST_ROOM;
    else if (room == table->room)
        room++;
    if (room > SIZE_MAX / 16)
        return 0;
    for (int i = 0; i < table->count; i++) {
        Column *column = &table->columns[i];
        void *data = realloc(column->data, room * column->width);
        if (!data)
            return 0;
        column->data = data;
    }
    table->room = room;
    return 1;
}

static void table_free(Table *table)
{
    for (int i = 0; i < table->count; i++)
        free(table->columns[i].data);
}

/* A dictionary: texts lie one behind the other in `text`; text i ends at end[i].
 * `slots` is an open hash table of numbers + 1; 0 is an empty place.
 */
typedef struct {
    char *text;
    size_t text_size, text_room;
    uint64_t *hash;
    size_t *end;
    uint32_t size, room;
    uint32_t *slots;
    uint32_t mask;
} Texts;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LITTLE_ENDIAN_MACHINE 1
#else
#define LITTLE_ENDIAN_MACHINE 0
#endif

static inline uint64_t load64(const void *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

/* The high and the low half of a product, mixed: every bit of both reaches every bit. */
static inline uint64_t mixed(uint64_t one, uint64_t other)
{
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)one * other;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t a = one >> 32, b = one & 0xffffffff, c = other >> 32, d = other & 0xffffffff;
    uint64_t high = a * c, low = b * d, cross = a * d + (b * c);
    return high ^ low ^ (cross << 32) ^ (cross >> 32);
#endif
}

/* Of all bytes: names of kernels often differ in the middle only. The seed is drawn for
 * every process, so that a file cannot be made whose names all meet in one slot; it is in
 * both factors of every product: where one of them is known, differences can be made that
 * cancel whatever the other is (a factor of 0 is the simplest). */
static inline uint64_t hash_of(const char *text, size_t length, uint64_t seed)
{
    uint64_t hash = seed ^ (length * 0x9e3779b97f4a7c15u);
    for (; length >= 16; text += 16, length -= 16)
        hash = mixed(load64(text) ^ hash, load64(text + 8) ^ seed ^ 0xe7037ed1a0b428dbu);
    uint64_t first = 0, second = 0;
    if (length >= 8) {
        first = load64(text);
        second = load64(text + length - 8);
    } else if (length >= 4) {
        uint32_t low, high;
        memcpy(&low, text, 4);
        memcpy(&high, text + length - 4, 4);
        first = low;
        second = high;
    } else if (length) {
        first = (unsigned char)text[0] | (uint64_t)(unsigned char)text[length / 2] << 8
            | (uint64_t)(unsigned char)text[length - 1] << 16;
    }
    hash = mixed(first ^ hash, second ^ seed ^ 0x8ebc6af09c88c6e3u);
    return mixed(hash, 0x589965cc75374cc3u);
}

static inline const char *text_at(const Texts *texts, uint32_t number, size_t *length)
{
    size_t start = number ? texts->end[number - 1] : 0;
    *length = texts->end[number] - start;
    return texts->text + start;
}

/* Whether one more text of this length fits; the slots stay at least half empty. */
static inline int texts_have_room(const Texts *texts, size_t count, size_t length)
{
    return texts->room - texts->size >= count && texts->text_room - texts->text_size >= length;
}

static int texts_grow(Texts *texts, size_t count, size_t length)
{
    while (texts->room - texts->size < count) {
        uint32_t room = texts->room ? texts->room * 2 : FIRST_ROOM;
        if (room > 1u << 30 || (uint64_t)room * 16 > SIZE_MAX) /* of 32 bits */
            return 0;
        uint64_t *hash = realloc(texts->hash, room * sizeof *hash);
        if (!hash)
            return 0;
        texts->hash = hash;
        size_t *end = realloc(texts->end, room * sizeof *end);
        if (!end)
            return 0;
        texts->end = end;
        uint32_t *slots = calloc((size_t)room * 2, sizeof *slots);
        if (!slots)
            return 0;
        uint32_t mask = room * 2 - 1;
        for (uint32_t number = 0; number < texts->size; number++) {
            uint32_t slot = (uint32_t)hash[number] & mask;
            while (slots[slot])
                slot = (slot + 1) & mask;
            slots[slot] = number + 1;
        }
        free(texts->slots);
        texts->slots = slots;
        texts->mask = mask;
        texts->room = room;
    }
    while (texts->text_room - texts->text_size < length) {
        size_t room = texts->text_room ? texts->text_room + texts->text_room / 4 : FIRST_TEXT;
        char *text = realloc(texts->text, room);
        if (!text)
            return 0;
        texts->text = text;
        texts->text_room = room;
    }
    return 1;
}

/* The slot of a text: where its number is, or may be put. */
static inline uint32_t slot_of(const Texts *texts, const char *text, size_t length,
    uint64_t hash)
{
    uint32_t slot = (uint32_t)hash & texts->mask;
    while (texts->slots[slot]) {
        uint32_t number = texts->slots[slot] - 1;
        if (texts->hash[number] == hash) {
            size_t known_length;
            const char *known = text_at(texts, number, &known_length);
            if (known_length == length && !memcmp(known, text, length))
                break;
        }
        slot = (slot + 1) & texts->mask;
    }
    return slot;
}

static inline int is_known(const Texts *texts, const char *text, size_t length, uint64_t seed)
{
    return texts->slots[slot_of(texts, text, length, hash_of(text, length, seed))] != 0;
}

/* The number of a text; a new one gets the next. There is room: `texts_have_room`. */
static inline uint32_t number_of(Texts *texts, const char *text, size_t length, uint64_t seed)
{
    uint64_t hash = hash_of(text, length, seed);
    uint32_t slot = slot_of(texts, text, length, hash);
    if (texts->slots[slot])
        return texts->slots[slot] - 1;
    memcpy(texts->text + texts->text_size, text, length);
    texts->text_size += length;
    texts->hash[texts->size] = hash;
    texts->end[texts->size] = texts->text_size;
    texts->slots[slot] = texts->size + 1;
    return texts->size++;
}

static void texts_free(Texts *texts)
{
    free(texts->text);
    free(texts->hash);
    free(texts->end);
    free(texts->slots);
}

#endif
