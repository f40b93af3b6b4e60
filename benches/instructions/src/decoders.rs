//! The functions that decode narrow weights to `f32`, beside decoders that engines wrote by hand: a kernel for each
//! decoder loads a word, decodes its codes and stores the values. All kernels of a type load and store with the same
//! code.

use std::fmt::{self, Display};
use std::str::FromStr;

use support::decoders;
use support::translate::{Format, translate};

use crate::Result;
use crate::chip::{Code, Compiler};

const COLUMNS: &str = "element_type,decoder,wrong_codes,chip,instructions,registers";

/// The name of our functions, which are compared with the others.
const OURS: &str = "wgpu-cast";

/// A decoder's counts on a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    element_type: String,
    decoder: String,
    /// Codes whose bits are not those of the cast to FLOAT.
    wrong_codes: usize,
    chip: String,
    instructions: u64,
    registers: u64,
}

impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element_type, decoder, wrong_codes, chip, instructions, registers } = self;
        write!(f, "{element_type},{decoder},{wrong_codes},{chip},{instructions},{registers}")
    }
}

impl FromStr for Row {
    type Err = Box<dyn std::error::Error>;

    fn from_str(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [element_type, decoder, wrong_codes, chip, instructions, registers] = fields[..] else {
            return Err(format!("not a row: {line:?}").into());
        };
        let [element_type, decoder, chip] = [element_type, decoder, chip].map(str::to_owned);
        let (wrong_codes, registers) = (wrong_codes.parse()?, registers.parse()?);
        Ok(Self { element_type, decoder, wrong_codes, chip, instructions: instructions.parse()?, registers })
    }
}

/// All rows, and the driver that counted.
#[derive(Debug)]
pub struct Decoders {
    pub driver: String,
    rows: Vec<Row>,
}

impl Decoders {
    /// Counts on the chip that the environment names.
    pub fn count(compiler: &Compiler, chip: &str) -> Result<Self> {
        let mut rows = Vec::new();
        for decoder in decoders::all() {
            let bytes = translate(&decoder.kernel(), Format::Spirv)?;
            let spirv = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
            let Code { instructions, registers, .. } = compiler.compile(&spirv.collect::<Vec<_>>())?;
            let (element_type, name) = (decoder.element_type.to_string(), decoder.engine.to_owned());
            let (wrong_codes, chip) = (decoder.wrong.len(), chip.to_owned());
            rows.push(Row { element_type, decoder: name, wrong_codes, chip, instructions, registers });
        }
        Ok(Self { driver: compiler.driver.clone(), rows })
    }

    /// No rows yet.
    pub fn none() -> Self {
        Self { driver: String::new(), rows: Vec::new() }
    }

    /// Adds the rows of another chip.
    pub fn append(&mut self, other: Self) {
        self.driver = other.driver;
        self.rows.extend(other.rows);
    }

    /// The decoders by hand that give the same bits for every code in fewer instructions than ours.
    pub fn passed(&self) -> Vec<String> {
        let exact = self.rows.iter().filter(|row| row.wrong_codes == 0);
        let shorter = |row: &&Row| {
            let ours = |other: &&Row| {
                other.decoder == OURS && (&other.element_type, &other.chip) == (&row.element_type, &row.chip)
            };
            self.rows.iter().find(ours).is_none_or(|ours| row.instructions < ours.instructions)
        };
        exact.filter(shorter).map(|row| format!("shorter than ours: {row}")).collect()
    }

    /// The rows that are worse than in the table `before`, or are in one table only.
    pub fn worsened(&self, before: &Self) -> Vec<String> {
        let key = |row: &Row| (row.element_type.clone(), row.decoder.clone(), row.wrong_codes, row.chip.clone());
        let mut wrong = Vec::new();
        for row in &self.rows {
            match before.rows.iter().find(|old| key(old) == key(row)) {
                None => wrong.push(format!("missing from the table of decoders: {row}")),
                Some(old) if row.instructions > old.instructions => {
                    wrong.push(format!("{row}; {} instructions in the table", old.instructions));
                }
                Some(_) => {}
            }
        }
        let gone = before.rows.iter().filter(|old| !self.rows.iter().any(|row| key(row) == key(old)));
        wrong.extend(gone.map(|row| format!("only in the table of decoders: {row}")));
        wrong
    }
}

impl Display for Decoders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}\n{COLUMNS}", self.driver)?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl FromStr for Decoders {
    type Err = Box<dyn std::error::Error>;

    fn from_str(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let driver = lines.next().and_then(|line| line.strip_prefix("# ")).ok_or("no line with the driver")?.to_owned();
        if lines.next() != Some(COLUMNS) {
            return Err("other columns".into());
        }
        Ok(Self { driver, rows: lines.map(str::parse).collect::<Result<_>>()? })
    }
}
