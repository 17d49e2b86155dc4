/* A target of libFuzzer: the compiled reader, seen by the fuzzer, against the one in Python.
 *
 * Python runs inside; the module is part of the program, so that its branches are counted.
 */
#include "module.c"

#include <stdio.h>

static PyObject *check;

int LLVMFuzzerInitialize(int *count, char ***names)
{
    (void)count, (void)names;
    PyImport_AppendInittab("synctax.trace._scan", PyInit__scan);
    Py_Initialize();
    PyObject *module = PyImport_ImportModule("tests.fuzz.oracle");
    check = module ? PyObject_GetAttrString(module, "check") : NULL;
    if (!check) {
        PyErr_Print();
        exit(2);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    PyObject *text = PyBytes_FromStringAndSize((const char *)data, (Py_ssize_t)size);
    PyObject *done = text ? PyObject_CallFunctionObjArgs(check, text, NULL) : NULL;
    if (!done) {
        PyErr_Print();
        fflush(NULL);
        abort();
    }
    Py_DECREF(done);
    Py_DECREF(text);
    return 0;
}
