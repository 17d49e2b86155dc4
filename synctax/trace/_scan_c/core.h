/* The scanner itself, compiled once for each kind of vector unit.
 *
 * Before it is included: `VARIANT` names the functions, `STEP` is the bytes of one compare
 * and `special(at)` a mask, from the lowest bit, of which of them are a quote, a backslash,
 * a control character or beyond ASCII; `LANE` bits of the mask belong to one byte.
 */

#define GLUE2(name, variant) name##_##variant
#define GLUE(name, variant) GLUE2(name, variant)
#define FN(name) GLUE(name, VARIANT)

static inline TARGET const char *FN(space)(const char *at)
{
    /* nearly always none or one; behind a line's end an indent */
    if ((byte)*at > ' ')
        return at;
    if (*at == ' ' && (byte)at[1] > ' ')
        return at + 1;
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

/* Pass a text from behind its opening quote to its closing one.
 * The place returned is a quote unless `*bad`. */
static inline TARGET const char *FN(text_end)(const char *at, unsigned *odd, int *bad)
{
    for (;;) {
        uint64_t mask;
#if STEP > 16
        mask = special_sse2(at); /* most texts are short */
        if (!mask) {
            at += 16;
            while (!(mask = FN(special)(at)))
                at += STEP;
        }
#else
        while (!(mask = FN(special)(at)))
            at += STEP;
#endif
        at += __builtin_ctzll(mask) / LANE;
        if (*at == '"')
            return at;
        at = odd_part(at, odd, bad);
        if (*bad)
            return at;
    }
}

/* Pass a list or an object that nothing is needed of, by JSON's rules all the same: what
 * is damaged there has to be repaired, and told. A place that holds no closing bracket
 * means that it could not be passed. `*plain` stays if numbers and texts in it are such
 * that all decoders agree. */
static TARGET const char *FN(nested)(const char *at, int *plain, int *bad)
{
    uint64_t objects = 0; /* which of the open brackets are braces, the innermost lowest */
    int depth = 0;
    unsigned odd = 0;
    uint8_t type;

open:
    if (++depth > 60)
        return *bad = 1, at;
    objects = objects << 1 | (*at == '{');
    at = FN(space)(at + 1);
    if (objects & 1) {
        *plain = 0;
        if (*at == '}')
            goto close;
        goto key;
    }
    if (*at == ']')
        goto close;
value:
    if (*at == '"') {
        at = FN(text_end)(at + 1, &odd, bad);
        if (*bad)
            return at;
        at++;
    } else if (*at == '[' || *at == '{') {
        goto open;
    } else if (is_digit(*at) || *at == '-') {
        const char *from = at;
        at = number(at, &type);
        if (!type)
            return *bad = 1, at;
        if (type == V_EXPONENT || at - from > 18)
            *plain = 0;
    } else if (*at == 't' || *at == 'f' || *at == 'n') {
        at = literal(at, &type);
        *plain = 0;
        if (!type)
            return *bad = 1, at;
    } else {
        return *bad = 1, at;
    }
after:
    at = FN(space)(at);
    if (*at == ',') {
        at = FN(space)(at + 1);
        if (objects & 1)
            goto key;
        goto value;
    }
    if (*at != (objects & 1 ? '}' : ']'))
        return *bad = 1, at;
close:
    at++;
    objects >>= 1;
    if (--depth)
        goto after;
    return at;
key:
    if (*at != '"')
        return *bad = 1, at;
    at = FN(text_end)(at + 1, &odd, bad);
    if (*bad)
        return at;
    at = FN(space)(at + 1);
    if (*at != ':')
        return *bad = 1, at;
    at = FN(space)(at + 1);
    goto value;
}

/* Pass any value. `type` stays 0 where it cannot be passed. */
static inline TARGET const char *FN(value)(const char *at, Value *value, int *plain)
{
    unsigned odd = 0;
    int bad = 0;
    value->type = 0;
    if (*at == '"') {
        value->at = at + 1;
        at = FN(text_end)(at + 1, &odd, &bad);
        if (bad)
            return at;
        value->length = (size_t)(at - value->at);
        value->type = V_TEXT;
        return at + 1;
    }
    value->at = at;
    if (is_digit(*at) || *at == '-') {
        at = number(at, &value->type);
        value->length = (size_t)(at - value->at);
        if (value->type == V_EXPONENT || value->length > MAX_NUMBER)
            *plain = 0;
        return at;
    }
    if (*at == '[' || *at == '{') {
        uint8_t type = *at == '[' ? V_LIST : V_OBJECT;
        at = FN(nested)(at, plain, &bad);
        if (bad)
            return at;
        value->length = (size_t)(at - value->at);
        value->type = type;
        return at;
    }
    return literal(at, &value->type);
}

/* Pass one event and the comma behind it, and keep what is needed of it.
 *
 * `*stop` is then the beginning of the next event. Else it is where the event could not be
 * passed: at the end of the text, MORE_TEXT may help; elsewhere it is REFUSED. */
static TARGET int FN(event)(State *state, const char *at, const char **stop,
    const char **comma)
{
    const Keys *keys = &state->event_keys;
    const char *from = at;
    uint64_t seen = 0;
    int within = 0; /* in args */
    Value ignored;

    if (*at != '{')
        goto wrong;
    at = FN(space)(at + 1);
    for (;;) {
        unsigned odd = 0;
        int bad = 0, plain = 1, role;
        const char *key;

        if (*at != '"')
            goto wrong;
        key = at + 1;
        at = FN(text_end)(key, &odd, &bad);
        if (bad || odd) /* a key may be a known one in disguise */
            goto wrong;
        role = role_of(keys, key, (size_t)(at - key));
        at = FN(space)(at + 1);
        if (*at != ':')
            goto wrong;
        at = FN(space)(at + 1);
        if (role < 0) {
            at = FN(value)(at, &ignored, &plain);
            if (!ignored.type)
                goto wrong;
        } else {
            if (seen & BIT(role)) /* twice: which of them counts is for Python to say */
                goto wrong;
            seen |= BIT(role);
            if (role == R_args) {
                if (*at != '{')
                    goto wrong;
                at = FN(space)(at + 1);
                if (*at == '}') {
                    at++;
                } else {
                    keys = &state->args_keys;
                    within = 1;
                    continue;
                }
            } else {
                at = FN(value)(at, &state->value[role], &plain);
                if (!(state->value[role].type & allowed(role)) || !plain)
                    goto wrong;
            }
        }
after:
        at = FN(space)(at);
        if (*at == ',') {
            at = FN(space)(at + 1);
            continue;
        }
        if (*at != '}')
            goto wrong;
        at++;
        if (!within)
            break;
        keys = &state->event_keys;
        within = 0;
        goto after; /* what follows args follows as any other value does */
    }
    if ((size_t)(at - from) > state->longest) /* which Python gives up */
        goto wrong;
    /* what follows decides whether the list goes on; if not, it is for Python */
    at = FN(space)(at);
    if (*at != ',')
        goto wrong;
    *comma = at;
    at = FN(space)(at + 1);
    if (*at != '{')
        goto wrong;
    *stop = at;
    return keep(state, seen);
wrong:
    *stop = at;
    return REFUSED;
}

/* Pass events from `*at` on, the beginning of one, up to `end`, where a NUL is.
 *
 * `*at` is moved to the comma behind the last event that was kept. */
static TARGET int FN(scan)(State *state, const char **at, const char *end)
{
    const char *event = *at, *comma, *stop;
    for (;;) {
        int result = FN(event)(state, event, &stop, &comma);
        if (result != DONE) {
            *at = event;
            return result == REFUSED && stop >= end ? MORE_TEXT : result;
        }
        event = stop;
    }
}

#undef VARIANT
#undef STEP
#undef LANE
#undef TARGET
