mod blocked;
mod name;
mod native;
mod orders;
