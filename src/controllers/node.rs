//! Reconciles nodes; see the module map in the crate's documentation.
