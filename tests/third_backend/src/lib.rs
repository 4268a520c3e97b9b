//! A third backend, registered from outside blocktensor.
