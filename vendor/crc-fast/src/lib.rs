//! The checksum CRC-64/NVME with the interface of the crate `crc-fast`, as far as object_store uses it. The crate itself
//! has tables for a hundred other checksums, 650 KB that cannot be compressed.

#![forbid(unsafe_code)]

/// A kind of checksum.
#[derive(Clone, Copy, Debug)]
pub enum CrcAlgorithm {
    /// Polynomial 0xad93d23594c93659, reflected, all bits inverted before and after. Check value: 0xae8b14860a799888.
    /// Source: NVM Express NVM Command Set Specification 1.0d, section 5.2.1.3.4.
    Crc64Nvme,
}

/// The polynomial with its bits in reverse order.
const REVERSED: u64 = 0xad93_d235_94c9_3659_u64.reverse_bits();

/// The remainder of each byte.
static REMAINDERS: [u64; 256] = remainders();

const fn remainders() -> [u64; 256] {
    let mut of = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ REVERSED } else { rest >> 1 };
            bit += 1;
        }
        of[byte] = rest;
        byte += 1;
    }
    of
}

/// Computes a checksum of data that is added in pieces.
#[derive(Clone, Debug)]
pub struct Digest(u64);

impl Digest {
    /// The checksum of no data.
    pub fn new(_: CrcAlgorithm) -> Digest {
        Digest(u64::MAX)
    }

    /// Adds data.
    pub fn update(&mut self, data: &[u8]) {
        self.0 = data.iter().fold(self.0, |rest, byte| rest >> 8 ^ REMAINDERS[usize::from(rest as u8 ^ byte)]);
    }

    /// The checksum of all data so far.
    pub fn finalize(&self) -> u64 {
        !self.0
    }
}
