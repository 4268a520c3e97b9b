//! Made images that a linear classifier cannot tell apart: each is of waves with a random phase, so that every pixel has the same mean
//! in every class.

use std::f32::consts::{PI, TAU};

use blocktensor::{Layout, MemoryFormat, Result, StridedTensor, Tensor};

use crate::model::Format;
use crate::random::Random;

/// Height and width of the images that the small networks are for.
pub const SIZE: usize = 32;

/// What is asked of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Which of 8 directions its waves have.
    Directions,
    /// Of each pixel: background with slanted waves, a disc with horizontal ones or a rectangle with vertical ones.
    Textures,
}

impl Task {
    /// How many classes there are.
    pub fn classes(self) -> usize {
        match self {
            Task::Directions => 8,
            Task::Textures => 3,
        }
    }

    /// One image, three channels one after the other, and its classes: one, or one for each pixel.
    fn image(self, random: &mut Random, number: usize, size: usize) -> (Vec<f32>, Vec<i32>) {
        let class = number % Task::Directions.classes();
        let mut wave = |angle: f32| Wave::of(random, angle);
        let waves = match self {
            Task::Directions => vec![wave(class as f32 * PI / 8.0)],
            Task::Textures => vec![wave(PI / 4.0), wave(PI / 2.0), wave(0.0)],
        };
        let mut place = |smallest: f32, largest: f32| {
            let reach = random.between(smallest, largest);
            (random.between(0.0, size as f32), random.between(0.0, size as f32), reach)
        };
        let (disc, rectangle) = (place(7.0, 11.0), place(6.0, 10.0));
        let region = |h: usize, w: usize| {
            let from = |(y, x, _): (f32, f32, f32)| (h as f32 - y, w as f32 - x);
            let ((dy, dx), (ry, rx)) = (from(disc), from(rectangle));
            if ry.abs().max(rx.abs()) < rectangle.2 {
                2
            } else {
                usize::from(dy * dy + dx * dx < disc.2 * disc.2)
            }
        };
        let at = |i: usize| (i / size, i % size);
        let which: Vec<usize> = match self {
            Task::Directions => vec![0; size * size],
            Task::Textures => (0..size * size).map(|i| region(at(i).0, at(i).1)).collect(),
        };
        let pixels = (0..3 * size * size).map(|i| {
            let (channel, (h, w)) = (i / (size * size), at(i % (size * size)));
            let noise = random.between(-1.0, 1.0);
            waves[which[i % (size * size)]].value(h, w, channel) + 0.5 * noise
        });
        let pixels = pixels.collect();
        match self {
            Task::Directions => (pixels, vec![class as i32]),
            Task::Textures => (pixels, which.iter().map(|&region| region as i32).collect()),
        }
    }
}

/// A plane wave with an amplitude for each channel.
struct Wave {
    down: f32,
    right: f32,
    phase: f32,
    amplitudes: [f32; 3],
}

impl Wave {
    fn of(random: &mut Random, angle: f32) -> Wave {
        let frequency = random.between(0.9, 1.6);
        Wave {
            down: frequency * angle.sin(),
            right: frequency * angle.cos(),
            phase: random.between(0.0, TAU),
            amplitudes: [0; 3].map(|_| random.between(0.5, 1.0)),
        }
    }

    fn value(&self, h: usize, w: usize, channel: usize) -> f32 {
        self.amplitudes[channel] * (self.down * h as f32 + self.right * w as f32 + self.phase).sin()
    }
}

/// Images and their classes, in batches.
#[derive(Clone, Debug)]
pub struct Data {
    /// Images as the network takes them: blocked once, when the data are made, and in no step.
    pub images: Vec<Tensor>,
    /// The classes: [N, 1, 1] or [N, H, W], s32.
    pub classes: Vec<StridedTensor>,
}

impl Data {
    /// `batches` batches of `batch` images each, `size` pixels high and wide. The images depend on the task, the seed and their size.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(task: Task, format: Format, seed: u64, [batches, batch, size]: [usize; 3]) -> Result<Data> {
        let mut random = Random::of(seed, "images");
        let (mut images, mut classes) = (Vec::new(), Vec::new());
        for at in 0..batches {
            let (mut pixels, mut of) = (Vec::new(), Vec::new());
            for i in 0..batch {
                let (image, class) = task.image(&mut random, at * batch + i, size);
                pixels.extend(image);
                of.extend(class);
            }
            let plain = StridedTensor::from_slice(&pixels, &[batch, 3, size, size])?;
            images.push(match format {
                Format::Nhwc => plain.contiguous(MemoryFormat::ChannelsLast)?.into(),
                Format::Blocked => plain.to_blocked(&Layout::native_activation(4)?)?.into(),
            });
            let dims = match task {
                Task::Directions => [batch, 1, 1],
                Task::Textures => [batch, size, size],
            };
            classes.push(StridedTensor::from_slice(&of, &dims)?);
        }
        Ok(Data { images, classes })
    }
}
