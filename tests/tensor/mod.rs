mod blocked;
mod chains;
mod formats;
mod values;
