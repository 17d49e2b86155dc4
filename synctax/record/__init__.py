"""Record traces of a torch job as synctax needs them, with delays put in on purpose.

Nothing here is imported by the rest of synctax; only this package imports torch.
"""
