"""Networks that say whether a target is safe, and which move decides it.

`components` names them, `building` makes them by name, `files` keeps them, `reckoned` answers
without torch, from `dense_arrays` and `zone_arrays`; `dense`, `convolutional` and `zonal` need it.
"""
