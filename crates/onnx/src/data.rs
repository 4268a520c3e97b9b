//! Integers and Booleans that are known: what shape arithmetic computes with.

use blocktensor::memory;
use blocktensor_graph::{Constant, ElementType, Error, Expansion, Integer, Result, Value};

use crate::lists::{CONSTANT, collect, filled};

/// A constant of integers or Booleans, row-major; Booleans are 0 and 1.
#[derive(Debug, PartialEq)]
pub(crate) struct Data {
    pub dims: Vec<usize>,
    pub values: Vec<i64>,
    /// Integers or Booleans.
    pub of: ElementType,
}

impl Data {
    /// The data of a constant, unless it holds f32 numbers or bytes.
    pub fn of(constant: &Constant) -> Result<Option<Data>> {
        let (values, of) = match constant {
            Constant::Int { of, values, .. } => (collect(values.iter().copied())?, ElementType::Int(*of)),
            Constant::Bool { values, .. } => {
                (collect(values.iter().map(|&b| i64::from(b)))?, ElementType::Bool)
            }
            Constant::F32(_) | Constant::Byte(_) | Constant::SignedByte(_) => return Ok(None),
        };
        Ok(Some(Data { dims: constant.dims().to_vec(), values, of }))
    }

    /// A copy.
    pub fn copy(&self) -> Result<Data> {
        Ok(self.with(self.dims.clone(), collect(self.values.iter().copied())?))
    }

    /// Integers of 64 bits: sizes and indices.
    pub fn of_sizes(dims: Vec<usize>, values: Vec<i64>) -> Data {
        Data { dims, values, of: ElementType::I64 }
    }

    /// The same type with other elements.
    pub fn with(&self, dims: Vec<usize>, values: Vec<i64>) -> Data {
        Data { dims, values, of: self.of }
    }

    /// What remains of results that do not fit into the type. `None` if one is a u64 of 2^63 or more, which i64 cannot hold.
    pub fn wrapped(mut self) -> Option<Data> {
        if let ElementType::Int(of) = self.of
            && of != Integer::I64
        {
            self.values.iter_mut().for_each(|v| *v = of.wrap(*v));
            if of == Integer::U64 && self.values.iter().any(|v| *v < 0) {
                return None;
            }
        }
        Some(self)
    }

    /// Elements between neighbours along each axis.
    fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.dims.len()];
        for i in (1..self.dims.len()).rev() {
            strides[i - 1] = strides[i] * self.dims[i];
        }
        strides
    }

    /// A tensor of other sizes; for each axis of the result its stride in this one, and the place of its first element.
    fn strided(&self, dims: &[usize], strides: &[isize], first: usize) -> Result<Data> {
        let count = dims.iter().product();
        let mut values = with_capacity(count)?;
        let mut index = vec![0usize; dims.len()];
        let mut at = first as isize;
        for _ in 0..count {
            values.push(self.values.get(at as usize).copied().unwrap_or(0));
            for axis in (0..dims.len()).rev() {
                index[axis] += 1;
                at += strides[axis];
                if index[axis] < dims[axis] {
                    break;
                }
                at -= strides[axis] * dims[axis] as isize;
                index[axis] = 0;
            }
        }
        Ok(self.with(dims.to_vec(), values))
    }

    /// The axes in another order.
    pub fn permute(&self, order: &[usize]) -> Result<Data> {
        let own = self.strides();
        let dims: Vec<usize> = order.iter().map(|&a| self.dims[a]).collect();
        let strides: Vec<isize> = order.iter().map(|&a| own[a] as isize).collect();
        self.strided(&dims, &strides, 0)
    }

    /// Repeated to sizes that the own ones broadcast to.
    pub fn expand(&self, dims: &[usize]) -> Result<Data> {
        let (own, missing) = (self.strides(), dims.len() - self.dims.len());
        let strides = (0..dims.len()).map(|i| match i.checked_sub(missing) {
            Some(axis) if self.dims[axis] != 1 => own[axis] as isize,
            _ => 0,
        });
        self.strided(dims, &strides.collect::<Vec<_>>(), 0)
    }

    /// `count` elements of an axis, `step` apart.
    pub fn range(&self, axis: usize, start: usize, count: usize, step: i64) -> Result<Data> {
        let own = self.strides();
        let mut dims = self.dims.clone();
        dims[axis] = count;
        let mut strides: Vec<isize> = own.iter().map(|&s| s as isize).collect();
        strides[axis] = strides[axis].wrapping_mul(step as isize);
        self.strided(&dims, &strides, start * own[axis])
    }

    /// The elements at these indices of an axis, which becomes the axes of the indices.
    pub fn select(&self, axis: usize, index: &[i64], index_dims: &[usize]) -> Result<Data> {
        let inner: usize = self.dims[axis + 1..].iter().product();
        let outer: usize = self.dims[..axis].iter().product();
        let size = self.dims[axis];
        let mut values = with_capacity(outer * index.len() * inner)?;
        for o in 0..outer {
            for &i in index {
                let from = (o * size + i as usize) * inner;
                values.extend_from_slice(&self.values[from..from + inner]);
            }
        }
        let dims = self.dims[..axis].iter().chain(index_dims).chain(&self.dims[axis + 1..]).copied();
        Ok(self.with(dims.collect(), values))
    }

    /// Tensors one after another along an axis.
    pub fn concat(list: &[Data], axis: usize) -> Result<Option<Data>> {
        let Some(first) = list.first() else { return Ok(None) };
        let agrees = |d: &Data| {
            d.dims.len() == first.dims.len()
                && (0..d.dims.len()).all(|i| i == axis || d.dims[i] == first.dims[i])
        };
        if !list.iter().all(agrees) {
            return Ok(None);
        }
        let inner: usize = first.dims[axis + 1..].iter().product();
        let outer: usize = first.dims[..axis].iter().product();
        let mut values = with_capacity(list.iter().map(|d| d.values.len()).sum())?;
        for o in 0..outer {
            for d in list {
                let piece = d.dims[axis] * inner;
                values.extend_from_slice(&d.values[o * piece..(o + 1) * piece]);
            }
        }
        let mut dims = first.dims.clone();
        dims[axis] = list.iter().map(|d| d.dims[axis]).sum();
        Ok(Some(first.with(dims, values)))
    }

    /// Folds axes, which stay with size 1.
    pub fn reduce(&self, axes: &[usize], start: i64, combine: impl Fn(i64, i64) -> i64) -> Result<Data> {
        let dims: Vec<usize> =
            self.dims.iter().enumerate().map(|(i, &d)| if axes.contains(&i) { 1 } else { d }).collect();
        let mut result = self.with(dims.clone(), filled(dims.iter().product(), start)?);
        let strides = result.strides();
        let own = self.strides();
        for (at, &value) in self.values.iter().enumerate() {
            let place: usize = (0..dims.len())
                .filter(|i| !axes.contains(i))
                .map(|i| at / own[i] % self.dims[i] * strides[i])
                .sum();
            result.values[place] = combine(result.values[place], value);
        }
        Ok(result)
    }
}

impl TryFrom<Data> for Value {
    type Error = Error;

    fn try_from(data: Data) -> Result<Value> {
        let Data { dims, values, of } = data;
        Ok(match of {
            ElementType::Int(of) => Constant::Int { of, dims, values }.into(),
            _ => Constant::Bool { dims, values: collect(values.into_iter().map(|v| v != 0))? }.into(),
        })
    }
}

/// An empty list with room for this many elements.
fn with_capacity(count: usize) -> Result<Vec<i64>> {
    Ok(memory::try_with_capacity(CONSTANT, count)?)
}

/// A result in its type.
pub(crate) fn fitting(data: Data, cx: &Expansion<'_>) -> Result<Value> {
    let wrapped = data.wrapped().ok_or_else(|| {
        let rule = "integers are read and computed as i64";
        cx.invalid("result", "a u64 of 2^63 or more", rule, "use smaller numbers")
    });
    wrapped?.try_into()
}

#[cfg(test)]
mod tests {
    use super::Data;

    fn data(dims: &[usize], values: &[i64]) -> Data {
        Data::of_sizes(dims.to_vec(), values.to_vec())
    }

    #[test]
    fn elements_move_as_in_tensors() {
        let x = data(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        assert_eq!(x.permute(&[1, 0]).unwrap(), data(&[3, 2], &[1, 4, 2, 5, 3, 6]));
        assert_eq!(x.range(1, 2, 2, -2).unwrap(), data(&[2, 2], &[3, 1, 6, 4]));
        assert_eq!(x.select(1, &[2, 0], &[2, 1]).unwrap(), data(&[2, 2, 1], &[3, 1, 6, 4]));
        let repeated = data(&[3, 1], &[1, 2, 3]).expand(&[2, 3, 2]).unwrap();
        assert_eq!(repeated.values, [1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3]);
        assert_eq!(x.reduce(&[0], 0, |a, b| a + b).unwrap(), data(&[1, 3], &[5, 7, 9]));
        let joined = Data::concat(&[x.copy().unwrap(), data(&[2, 1], &[7, 8])], 1).unwrap();
        assert_eq!(joined, Some(data(&[2, 4], &[1, 2, 3, 7, 4, 5, 6, 8])));
    }
}
