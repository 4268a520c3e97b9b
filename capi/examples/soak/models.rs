//! Models that are read, packed, written, mapped, run and dropped.

use std::path::{Path, PathBuf};

use blocktensor::{Error, PackedFile, StridedTensor};
use blocktensor_nets::{Arch, Mode, Network, Weights, noise};

const SIZE: usize = 64;

pub struct Models {
    arch: Arch,
    folder: PathBuf,
    image: StridedTensor,
    /// The expected logits of each layout.
    want: Vec<Vec<f32>>,
}

fn text(e: Error) -> String {
    e.to_string()
}

impl Models {
    /// Writes seeded weights, and a packed file for each layout.
    pub fn new(folder: &Path) -> Result<Models, String> {
        let arch = Arch::by_name("resnet18").ok_or("no resnet18")?;
        Weights::random(&arch, 1).and_then(|w| w.save(&folder.join("weights.safetensors"))).map_err(text)?;
        let image = noise(1, SIZE, 7).map_err(text)?;
        let mut models = Models { arch, folder: folder.to_owned(), image, want: Vec::new() };
        for mode in Mode::ALL {
            let network = models.pack(mode)?;
            network.save(&models.packed(mode), false).map_err(text)?;
            models.want.push(models.logits(&network, mode)?);
        }
        Ok(models)
    }

    fn packed(&self, mode: Mode) -> PathBuf {
        self.folder.join(format!("{}.packed", mode.name()))
    }

    fn pack(&self, mode: Mode) -> Result<Network, String> {
        let (mut weights, _) =
            Weights::load(&self.folder.join("weights.safetensors"), &self.arch, true).map_err(text)?;
        Network::pack(&self.arch, &mut weights, mode, 1, SIZE).map_err(text)
    }

    fn logits(&self, network: &Network, mode: Mode) -> Result<Vec<f32>, String> {
        let image = self.image.contiguous(mode.image_format()).map_err(text)?;
        let y = blocktensor::run(|| network.run(&image)).map_err(text)?;
        y.to_vec::<f32>().map_err(text)
    }

    /// Runs every layout from its packed file. One layout, in turn, is also packed from the plain weights and written again.
    pub fn run(&self, round: usize) -> Result<(), String> {
        for (i, mode) in Mode::ALL.into_iter().enumerate() {
            // SAFETY: the file is in this process's own folder; below it is replaced by a new file, and never modified.
            let file = unsafe { PackedFile::map(self.packed(mode)) }.map_err(text)?;
            let network = Network::load(&self.arch, &file, mode, 1, SIZE).map_err(text)?;
            drop(file);
            self.check("mapped", &network, i)?;
            if round % 6 == i * 2 {
                let network = self.pack(mode)?;
                self.check("packed", &network, i)?;
                network.save(&self.packed(mode), false).map_err(text)?;
            }
        }
        Ok(())
    }

    /// Expects the same bits as at the start: the size of the team, which may be smaller, does not change them.
    fn check(&self, what: &str, network: &Network, i: usize) -> Result<(), String> {
        if self.logits(network, Mode::ALL[i])? == self.want[i] {
            return Ok(());
        }
        Err(format!("{what} {}: other logits than at the start", Mode::ALL[i].name()))
    }
}
