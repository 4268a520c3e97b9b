//! Descriptors in files.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::desc::TensorDesc;
use super::quantization::Quantization;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::key::DispatchKey;
use crate::layout::memory_format::MemoryFormat;

/// How a descriptor stands in a file. Strides and layout exclude each other.
#[derive(Serialize, Deserialize)]
struct Stored {
    dims: Vec<usize>,
    dtype: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strides: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layout: Option<String>,
    /// The name of another crate's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quantization: Option<Quantization>,
}

impl Stored {
    fn desc(&self) -> std::result::Result<TensorDesc, String> {
        let plain = self.plain()?;
        match &self.quantization {
            Some(quantization) => plain.quantized(quantization.clone()).map_err(|e| e.to_string()),
            None => Ok(plain),
        }
    }

    /// Without scales and zero points.
    fn plain(&self) -> std::result::Result<TensorDesc, String> {
        let dtype: DType = self.dtype.parse().map_err(|e: Error| e.to_string())?;
        let text = |result: Result<TensorDesc>| result.map_err(|e| e.to_string());
        match (&self.strides, &self.layout, &self.key) {
            (Some(strides), None, None) => {
                let desc = text(TensorDesc::with_strides(&self.dims, dtype, strides))?;
                let tag = self.tag.as_deref().map(str::parse::<MemoryFormat>).transpose();
                match tag.map_err(|e| e.to_string())? {
                    Some(tag) => text(desc.tagged(tag)),
                    None => Ok(desc),
                }
            }
            (None, Some(layout), None) => {
                let layout = layout.parse().map_err(|e: Error| e.to_string())?;
                text(TensorDesc::blocked(&self.dims, dtype, &layout))
            }
            (None, Some(layout), Some(key)) => {
                let known = DispatchKey::by_name(key);
                let known = known.ok_or_else(|| format!("no backend with the key {key:?} is registered"))?;
                text(TensorDesc::opaque(&self.dims, dtype, known, layout))
            }
            _ => Err("a descriptor has either strides or a layout".to_string()),
        }
    }
}

impl Serialize for TensorDesc {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let own = [DispatchKey::STRIDED, DispatchKey::BLOCKED].contains(&self.key());
        Stored {
            dims: self.dims().to_vec(),
            dtype: self.dtype().name().to_string(),
            strides: self.strides().map(<[usize]>::to_vec),
            tag: self.format_tag().map(|tag| tag.name().to_string()),
            layout: self.strides().is_none().then(|| self.layout_name()),
            key: (!own).then(|| self.key().name().to_string()),
            quantization: self.quantization().cloned(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TensorDesc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<TensorDesc, D::Error> {
        Stored::deserialize(deserializer)?.desc().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, StridedTensor, TensorRef};

    #[test]
    fn descriptors_come_back_from_text() {
        let image = StridedTensor::zeros(&[2, 3, 5, 7], DType::F32, MemoryFormat::ChannelsLast).unwrap();
        let view = image.narrow(1, 1, 2).unwrap();
        let tagged = image.with_format_tag(MemoryFormat::ChannelsLast).unwrap();
        let bytes = TensorDesc::blocked(&[1, 2, 4, 4], DType::U8, &Layout::NCHW16C).unwrap();
        let axis = Quantization { axis: Some(1), scales: vec![0.3, 1e-7], zero_points: vec![0, 255] };
        for desc in [
            TensorDesc::strided(&[], DType::S32, MemoryFormat::Contiguous).unwrap(),
            TensorDesc::strided(&[2, 0, 3], DType::U8, MemoryFormat::Contiguous).unwrap(),
            TensorDesc::of(TensorRef::Strided(&image)),
            TensorDesc::of(TensorRef::Strided(&tagged)),
            TensorDesc::of(TensorRef::Strided(&view)),
            TensorDesc::blocked(&[1, 17, 4, 4], DType::F32, &Layout::NCHW16C).unwrap(),
            bytes.clone().quantized(Quantization::per_tensor(0.1, 7)).unwrap(),
            bytes.quantized(axis).unwrap(),
        ] {
            let text = serde_json::to_string(&desc).unwrap();
            assert_eq!(serde_json::from_str::<TensorDesc>(&text).unwrap(), desc, "{text}");
        }
    }

    #[test]
    fn texts_that_describe_no_tensor_are_refused() {
        for (text, part) in [
            (r#"{"dims":[2],"dtype":"f99","strides":[1]}"#, "f99"),
            (r#"{"dims":[2],"dtype":"f32"}"#, "strides or a layout"),
            (r#"{"dims":[2],"dtype":"f32","strides":[1],"layout":"nChw16c"}"#, "strides or a layout"),
            (r#"{"dims":[2],"dtype":"f32","strides":[1,1]}"#, "a stride for each size"),
            (r#"{"dims":[9,9],"dtype":"f32","strides":[1,9223372036854775807]}"#, "within"),
            (r#"{"dims":[2],"dtype":"f32","layout":"nChw16c"}"#, "rank"),
            (r#"{"dims":[2],"dtype":"f32","layout":"x","key":"nobody"}"#, "nobody"),
            (
                r#"{"dims":[2],"dtype":"f32","strides":[1],"quantization":{"scales":[1.0],"zero_points":[0]}}"#,
                "u8",
            ),
            (
                r#"{"dims":[2],"dtype":"u8","strides":[1],"quantization":{"scales":[0.0],"zero_points":[0]}}"#,
                "above 0",
            ),
        ] {
            let error = serde_json::from_str::<TensorDesc>(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
