//! The C interface.
//!
//! Every function returns a status: 0, or an error's code. [`bt_last_error_message`] returns the full text of the calling
//! thread's last error. Objects are handles: numbers that only this library makes. A handle that is 0, was freed or never
//! existed is an error, never a crash. No panic crosses the interface, and nothing is printed.
//!
//! Pointers must be valid for what each function states: C gives no way to check them. Strings are UTF-8 and end with NUL;
//! arrays come with their lengths. Objects may be used from any thread.

mod call;
mod desc;
mod dict;
mod dlpack;
mod fallback;
mod handles;
mod lent;
mod model;
mod operator;
mod packed;
mod packed_file;
mod plan;
mod quantization;
mod reorder;
mod scopes;
mod status;
mod table;
mod temporaries;
mod tensor;
mod text;
mod values;
#[doc(hidden)]
pub mod words;

pub use call::*;
pub use desc::*;
pub use dict::*;
pub use dlpack::*;
pub use fallback::*;
pub use handles::*;
pub use model::*;
pub use operator::*;
pub use packed::*;
pub use packed_file::*;
pub use plan::*;
pub use quantization::*;
pub use reorder::*;
pub use scopes::*;
pub use status::*;
pub use table::*;
pub use temporaries::*;
pub use tensor::*;
pub use text::*;
pub use values::*;
