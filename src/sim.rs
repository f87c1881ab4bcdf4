pub mod cloud;
pub mod kube;
