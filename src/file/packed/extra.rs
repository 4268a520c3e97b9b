//! What a file holds beside packed weights: tensors and texts of the program that writes it, and the plain weights.

use super::writer::check_new;
use super::{PackedFile, PackedWriter, TENSOR};
use crate::error::{Call, Error, Result, Text, fail};
use crate::file::{shown, shown_path, tensors};
use crate::tensor::strided::StridedTensor;

impl PackedWriter<'_> {
    /// Adds a tensor under a name of its own. The file holds it in row-major order, and its scales and zero points.
    ///
    /// # Errors
    /// `InvalidArgument` if another tensor has the name.
    pub fn add_tensor(&mut self, name: impl Into<String>, tensor: &StridedTensor) -> Result<()> {
        let name = name.into();
        check_new(&self.tensors, "PackedWriter::add_tensor", &name)?;
        self.tensors.insert(name, tensor.clone());
        Ok(())
    }

    /// Adds a text, such as a description of the model in JSON. A text of the same name is replaced.
    ///
    /// ```
    /// use blocktensor::{MemoryFormat, PackedFile, PackedWriter, StridedTensor};
    /// # fn main() -> blocktensor::Result<()> {
    /// # let dir = std::env::temp_dir().join(format!("blocktensor-doc-extra-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let path = dir.join("model.packed");
    /// let mut writer = PackedWriter::new();
    /// writer.add_text("labels", "cat,dog");
    /// writer.add_tensor("mean", &StridedTensor::full(&[3], 0.5f32, MemoryFormat::Contiguous)?)?;
    /// writer.save(&path)?;
    ///
    /// let file = PackedFile::read(&path)?;
    /// assert_eq!(file.text("labels"), Some("cat,dog"));
    /// assert_eq!(file.tensor("mean")?.to_vec::<f32>()?, [0.5; 3]);
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok(())
    /// # }
    /// ```
    pub fn add_text(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.texts.insert(name.into(), text.into());
    }
}

impl PackedFile {
    /// A text that [`PackedWriter::add_text`] added.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// A tensor that [`PackedWriter::add_tensor`] added, row-major. It uses the file's memory; the `PackedFile` may be dropped.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none; `UnsupportedDType`, `RankMismatch` or `Overflow` if it has a type or sizes that tensors
    /// here cannot have; `CorruptFile` for scales and zero points that it cannot have.
    pub fn tensor(&self, name: &str) -> Result<StridedTensor> {
        let op = "PackedFile::tensor";
        let t = self.stored(op, name, TENSOR, "one that `PackedWriter::add_tensor` added")?;
        match self.quantizations.get(name) {
            Some(json) => tensors::quantized(op, &self.path, name, json, Some(&t)),
            None => Ok(t),
        }
    }

    /// The plain weights of the packed op of this name, row-major, as [`PackedWriter::keep_plain`] keeps them.
    ///
    /// # Errors
    /// `InvalidArgument` if the file does not keep them, or has no packed op of this name.
    pub fn plain(&self, name: &str) -> Result<StridedTensor> {
        self.stored("PackedFile::plain", name, "plain", Text::from("one that ") + Call::KeepPlain + " keeps")
    }

    fn stored(
        &self,
        op: &'static str,
        name: &str,
        kind: &str,
        rule: impl Into<Text>,
    ) -> Result<StridedTensor> {
        let there = self.parts.get(&format!("{name}.{kind}"));
        let Some(part) = there else {
            let got = format!("`{}` of `{}`", shown(name), shown_path(&self.path));
            fail!(InvalidArgument, op, "name", got, rule, "write the file again with this tensor")
        };
        tensors::tensor(op, name, part)
    }

    /// Why its packed weights do not fit this machine, if they do not: a file that was opened to pack them again.
    pub fn misfit(&self) -> Option<Error> {
        self.misfit.clone().map(Error::PackMismatch)
    }
}
