mod blocked;
mod chains;
mod desc;
mod formats;
mod quantization;
mod values;
