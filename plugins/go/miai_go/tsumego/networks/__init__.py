"""Networks that say whether a target is safe, and which move decides it.

`components` names them, `building` makes them by name, `files` keeps them, `reckoned` answers
without torch, which `dense` and `convolutional` need.
"""
