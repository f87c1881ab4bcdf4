//! Reconciles routes; see the module map in the crate's documentation.
