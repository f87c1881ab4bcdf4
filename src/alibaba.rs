//! alibaba
