mod blocked;
mod chains;
mod formats;
