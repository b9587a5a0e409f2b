//! Helpers of the workspace tests.
