/* synctax.trace._scan: events of Kineto traces to columns.
 *
 * The reader in Python knows what becomes of every event. This module does the same for
 * those that are written as profilers write them, and refuses all others one by one, so
 * that the reader in Python can do them. See `synctax/trace/native.py`.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "scanner.h"

#define LAYOUT 3 /* as in `readers.py` */

/* ------------------------------------------------------------------ memory that is given away */

typedef struct {
    PyObject_HEAD
    char *data;
    Py_ssize_t size;
} Memory;

static int memory_buffer(PyObject *self, Py_buffer *view, int flags)
{
    Memory *memory = (Memory *)self;
    return PyBuffer_FillInfo(view, self, memory->data ? memory->data : (char *)"",
        memory->size, 0, flags);
}

static void memory_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free(((Memory *)self)->data);
    release(self);
    Py_DECREF(type);
}

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, (void *)memory_dealloc},
    {Py_bf_getbuffer, (void *)memory_buffer},
    {Py_tp_doc, (void *)"One column's memory; arrays are made of it without a copy."},
    {0, NULL},
};
static PyType_Spec memory_spec = {"synctax.trace._scan.Memory", sizeof(Memory), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, memory_slots};

/* The memory of a column, which the table loses. */
static PyObject *taken(PyTypeObject *memory_type, Table *table, int column)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(memory_type, Py_tp_alloc);
    Memory *memory = (Memory *)allocate(memory_type, 0);
    if (!memory)
        return NULL;
    size_t size = table->size * table->columns[column].width;
    char *data = table->columns[column].data;
    char *fitting = size ? realloc(data, size) : data;
    memory->data = fitting ? fitting : data;
    memory->size = (Py_ssize_t)size;
    table->columns[column].data = NULL;
    return (PyObject *)memory;
}

/* ------------------------------------------------------------------------------- the scanner */

typedef struct {
    PyObject_HEAD
    State *state;
    Scan *scan;
    int busy, closed;
} Scanner;

static Variant known_variants[8];
static int known_variants_count;

static int role_named(PyObject *name)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text)
        return -1;
    for (int role = 0; role < ROLE_COUNT; role++)
        if (!strcmp(text, ROLE_NAMES[role]))
            return role;
    PyErr_Format(PyExc_ValueError, "no role is called %s", text);
    return -1;
}

/* Keys from a list of pairs (bytes, name of a role). */
static int add_keys(Keys *keys, PyObject *list, char **text)
{
    Py_ssize_t count = PyList_Size(list);
    if (count < 0 || count > KEY_SLOTS / 2) {
        if (count >= 0)
            PyErr_SetString(PyExc_ValueError, "too many keys");
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PyList_GetItem(list, i), *name;
        char *key;
        Py_ssize_t length;
        if (!pair || !PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "keys are pairs of bytes and a role");
            return 0;
        }
        name = PyTuple_GetItem(pair, 1);
        if (!name || PyBytes_AsStringAndSize(PyTuple_GetItem(pair, 0), &key, &length) < 0)
            return 0;
        int role = role_named(name);
        if (role < 0)
            return 0;
        add_key(keys, key, (size_t)length, role, text);
    }
    return 1;
}

/* Prefixes from a list of bytes. */
static int add_prefixes(const char ***prefix, size_t **lengths, int *count, PyObject *list,
    char **text)
{
    Py_ssize_t size = PyList_Size(list);
    if (size < 0)
        return 0;
    *prefix = calloc((size_t)size + 1, sizeof **prefix);
    *lengths = calloc((size_t)size + 1, sizeof **lengths);
    if (!*prefix || !*lengths) {
        PyErr_NoMemory();
        return 0;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        char *key;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyList_GetItem(list, i), &key, &length) < 0)
            return 0;
        memcpy(*text, key, (size_t)length);
        (*prefix)[i] = *text;
        (*lengths)[i] = (size_t)length;
        *text += length;
    }
    *count = (int)size;
    return 1;
}

/* Categories that are kept, from a list of pairs (bytes, kind). */
static int add_categories(State *state, PyObject *list)
{
    Py_ssize_t size = PyList_Size(list);
    if (size < 0 || size > MAX_CATEGORIES / 2) {
        if (size >= 0)
            PyErr_SetString(PyExc_ValueError, "too many categories");
        return 0;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        char *name;
        Py_ssize_t length;
        int kind;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "y#i", &name, &length, &kind))
            return 0;
        if (kind < 0 || kind >= KINDS) {
            PyErr_Format(PyExc_ValueError, "no kind has the number %d", kind);
            return 0;
        }
        if (!add_category(state, name, (size_t)length, kind)) {
            PyErr_NoMemory();
            return 0;
        }
    }
    return 1;
}

/* How much text is in lists of bytes and of pairs with bytes. */
static Py_ssize_t text_in(PyObject *list)
{
    Py_ssize_t total = 0, count = PyList_Size(list);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (item && PyTuple_Check(item) && PyTuple_Size(item))
            item = PyTuple_GetItem(item, 0);
        if (item && PyBytes_Check(item))
            total += PyBytes_Size(item) + 8;
    }
    return total;
}

static PyObject *scanner_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"event_keys", "args_keys", "categories", "communication", "marks",
        "longest", "seed", "variant", NULL};
    PyObject *event_keys, *args_keys, *categories, *communication, *marks;
    Py_ssize_t longest;
    unsigned long long seed;
    const char *variant;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!O!O!nKs", names, &PyList_Type,
            &event_keys, &PyList_Type, &args_keys, &PyList_Type, &categories, &PyList_Type,
            &communication, &PyList_Type, &marks, &longest, &seed, &variant))
        return NULL;
    if (longest < 0)
        return PyErr_Format(PyExc_ValueError, "no event has a length of %zd", longest);
    Scan *scan = NULL;
    for (int i = 0; i < known_variants_count; i++)
        if (!strcmp(variant, known_variants[i].name))
            scan = known_variants[i].scan;
    if (!scan)
        return PyErr_Format(PyExc_ValueError, "this machine cannot run %s", variant);
    State *state = state_new();
    if (!state)
        return PyErr_NoMemory();
    state->seed = seed;
    state->longest = (size_t)longest;
    char *text = state->key_text = malloc((size_t)(text_in(event_keys) + text_in(args_keys)
        + text_in(communication) + text_in(marks)) + 64);
    if (!text) {
        state_free(state);
        return PyErr_NoMemory();
    }
    Scanner *self = NULL;
    if (add_keys(&state->event_keys, event_keys, &text)
        && add_keys(&state->args_keys, args_keys, &text)
        && add_prefixes(&state->prefix, &state->prefix_length, &state->prefixes, communication,
            &text)
        && add_prefixes(&state->mark, &state->mark_length, &state->marks, marks, &text)
        && add_categories(state, categories)) {
        if (!make_room(state, FIRST_TEXT))
            PyErr_NoMemory();
        else
            self = (Scanner *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    }
    if (!self) {
        state_free(state);
        return NULL;
    }
    self->state = state;
    self->scan = scan;
    return (PyObject *)self;
}

static void scanner_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    state_free(((Scanner *)self)->state);
    release(self);
    Py_DECREF(type);
}

/* The scanner's memory; NULL, with an error, while another thread scans. */
static State *idle(PyObject *object)
{
    Scanner *self = (Scanner *)object;
    if (!self->busy)
        return self->state;
    PyErr_SetString(PyExc_RuntimeError, "the scanner is at work");
    return NULL;
}

static PyObject *scanner_scan(PyObject *object, PyObject *args)
{
    Scanner *self = (Scanner *)object;
    Py_buffer text;
    Py_ssize_t at;
    if (!PyArg_ParseTuple(args, "w*n", &text, &at))
        return NULL;
    if (!idle(object) || self->closed) {
        PyBuffer_Release(&text);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "the scanner has no columns any more");
        return NULL;
    }
    if (at < 0) { /* the first event is all there is: no bracket before it */
        PyBuffer_Release(&text);
        return Py_BuildValue("in", MORE_TEXT, at);
    }
    size_t place = (size_t)at;
    int result;
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    result = scan_text(self->state, self->scan, text.buf, (size_t)text.len, &place);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    PyBuffer_Release(&text);
    if (result == NO_ROOM) {
        self->closed = 1; /* it has rows of which the caller is not told */
        return PyErr_NoMemory();
    }
    return Py_BuildValue("in", result, (Py_ssize_t)place);
}

static Table *table_named(State *state, const char *name)
{
    return !strcmp(name, "events") ? &state->events
        : !strcmp(name, "kernels") ? &state->kernels
        : !strcmp(name, "syncs")   ? &state->syncs
        : !strcmp(name, "comms")   ? &state->comms
                                   : NULL;
}

static PyObject *scanner_rows(PyObject *object, PyObject *name)
{
    State *state = idle(object);
    const char *text = state ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    Table *table = text ? table_named(state, text) : NULL;
    if (!table)
        return text ? PyErr_Format(PyExc_ValueError, "no table is called %s", text) : NULL;
    return PyLong_FromSize_t(table->size);
}

static PyObject *scanner_take(PyObject *object, PyObject *args)
{
    Scanner *self = (Scanner *)object;
    const char *name;
    int column;
    if (!PyArg_ParseTuple(args, "si", &name, &column) || !idle(object))
        return NULL; /* in this order: to convert a number may let other threads run */
    Table *table = table_named(self->state, name);
    if (!table || column < 0 || column >= table->count || !table->columns[column].data)
        return PyErr_Format(PyExc_ValueError, "%s has no column %d", name, column);
    PyTypeObject *memory_type = *(PyTypeObject **)PyType_GetModuleState(Py_TYPE(object));
    self->closed = 1;
    return taken(memory_type, table, column);
}

/* Forget the rows, of which all columns were taken, but not what their numbers stand for. */
static PyObject *scanner_go_on(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    State *state = idle(object);
    if (!state)
        return NULL;
    Table *tables[] = {&state->events, &state->kernels, &state->syncs, &state->comms};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (int column = 0; column < tables[i]->count; column++)
            if (tables[i]->columns[column].data)
                return PyErr_Format(PyExc_RuntimeError, "column %d was not taken", column);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        tables[i]->size = tables[i]->room = 0;
    if (!make_room(state, 0))
        return PyErr_NoMemory(); /* it stays closed */
    ((Scanner *)object)->closed = 0;
    Py_RETURN_NONE;
}

static PyObject *texts_list(const Texts *texts, uint32_t first)
{
    if (first > texts->size)
        first = texts->size;
    PyObject *list = PyList_New((Py_ssize_t)(texts->size - first));
    for (uint32_t number = first; list && number < texts->size; number++) {
        size_t length;
        const char *text = text_at(texts, number, &length);
        PyObject *item = PyBytes_FromStringAndSize(text, (Py_ssize_t)length);
        if (!item || PyList_SetItem(list, (Py_ssize_t)(number - first), item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *scanner_texts(PyObject *object, PyObject *args)
{
    State *state = idle(object);
    const char *text;
    unsigned int first = 0;
    if (!state || !PyArg_ParseTuple(args, "s|I", &text, &first))
        return NULL;
    const Texts *texts = !strcmp(text, "names") ? &state->names
        : !strcmp(text, "values")               ? &state->values
        : !strcmp(text, "lanes")                ? &state->lanes
        : !strcmp(text, "geometries")           ? &state->geometries
        : !strcmp(text, "texts")                ? &state->texts
                                                : NULL;
    if (!texts)
        return PyErr_Format(PyExc_ValueError, "no dictionary is called %s", text);
    return texts_list(texts, first);
}

static PyObject *scanner_counted(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    State *state = idle(object);
    PyObject *list = state ? PyList_New(0) : NULL;
    for (uint32_t number = 0; list && number < state->categories.size; number++) {
        size_t length;
        const char *text = text_at(&state->categories, number, &length);
        for (int letter = 0; list && letter < MAX_LETTER; letter++) {
            if (!state->counted[number][letter])
                continue;
            PyObject *item = Py_BuildValue("(Cy#K)", letter, text, (Py_ssize_t)length,
                (unsigned long long)state->counted[number][letter]);
            if (!item || PyList_Append(list, item) < 0)
                Py_CLEAR(list);
            Py_XDECREF(item);
        }
    }
    return list;
}

static PyMethodDef scanner_methods[] = {
    {"scan", scanner_scan, METH_VARARGS,
        "scan(text, at): keep the events behind place `at` (the bracket or comma before\n"
        "the first); returns why it stopped, and the comma before the event that is next.\n"
        "The last 64 bytes of the text wait for more. Other threads run meanwhile."},
    {"rows", scanner_rows, METH_O, "rows(table): how many rows it has."},
    {"take", scanner_take, METH_VARARGS, "take(table, column): the memory of a column."},
    {"go_on", scanner_go_on, METH_NOARGS,
        "go_on(): begin with no rows again, when every column was taken."},
    {"texts", scanner_texts, METH_VARARGS,
        "texts(dictionary, first=0): its texts, as they stand, by number."},
    {"counted", scanner_counted, METH_NOARGS, "counted(): phase, category, count of events."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot scanner_slots[] = {
    {Py_tp_new, (void *)scanner_new},
    {Py_tp_dealloc, (void *)scanner_dealloc},
    {Py_tp_methods, scanner_methods},
    {Py_tp_doc, (void *)"Events of a text to columns."},
    {0, NULL},
};
static PyType_Spec scanner_spec = {"synctax.trace._scan.Scanner", sizeof(Scanner), 0,
    Py_TPFLAGS_DEFAULT, scanner_slots};

/* -------------------------------------------------------------------------------- the module */

/* What a module holds: the type of columns' memory. */
static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    Py_VISIT(*(PyObject **)PyModule_GetState(module));
    return 0;
}

static int module_clear(PyObject *module)
{
    Py_CLEAR(*(PyObject **)PyModule_GetState(module));
    return 0;
}

static int module_exec(PyObject *module)
{
    PyObject **memory_type = PyModule_GetState(module);
    *memory_type = PyType_FromModuleAndSpec(module, &memory_spec, NULL);
    if (!*memory_type)
        return -1;
    PyObject *scanner_type = PyType_FromModuleAndSpec(module, &scanner_spec, NULL);
    if (!scanner_type || PyModule_AddObjectRef(module, "Scanner", scanner_type) < 0) {
        Py_XDECREF(scanner_type);
        return -1;
    }
    Py_DECREF(scanner_type);
    known_variants_count = variants_here(known_variants);
    PyObject *variants = PyTuple_New(known_variants_count);
    for (int i = 0; variants && i < known_variants_count; i++) {
        PyObject *name = PyUnicode_FromString(known_variants[i].name);
        if (!name || PyTuple_SetItem(variants, i, name) < 0)
            Py_CLEAR(variants);
    }
    if (!variants || PyModule_AddObjectRef(module, "VARIANTS", variants) < 0) {
        Py_XDECREF(variants);
        return -1;
    }
    Py_DECREF(variants);
    return PyModule_AddIntConstant(module, "LAYOUT", LAYOUT) < 0
            || PyModule_AddIntConstant(module, "MORE_TEXT", MORE_TEXT) < 0
            || PyModule_AddIntConstant(module, "REFUSED", REFUSED) < 0
            || PyModule_AddIntConstant(module, "PADDING", PADDING) < 0
        ? -1
        : 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)module_exec},
    {0, NULL},
};
static struct PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "_scan",
    "Events of Kineto traces to columns.", sizeof(PyObject *), NULL, module_slots,
    module_traverse, module_clear, NULL};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&module_definition); }
