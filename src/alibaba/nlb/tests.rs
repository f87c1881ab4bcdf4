mod actions;
mod reads;
