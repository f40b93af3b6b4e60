//! The table: a line with the driver that counted, a line with the columns, and then a row for each kernel and chip.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::Result;
use crate::chip::Code;
use crate::kernels::Subject;

const COLUMNS: &str = "from,to,options,chip,instructions,elements,per_byte,registers,spills,scratch";

/// A kernel's counts on a chip.
#[derive(Clone, Debug)]
pub struct Row {
    pub from: String,
    pub to: String,
    pub options: String,
    pub chip: String,
    pub elements: u32,
    /// Instructions for each byte read or written.
    pub per_byte: f64,
    pub code: Code,
}

impl Row {
    pub fn new(subject: &Subject, chip: &str, code: Code) -> Self {
        let bits = subject.from.bits().unwrap_or_default() + subject.to.bits().unwrap_or_default();
        let bytes = f64::from(subject.elements * bits) / 8.0;
        Self {
            from: subject.from.to_string(),
            to: subject.to.to_string(),
            options: subject.options.clone(),
            chip: chip.to_owned(),
            elements: subject.elements,
            per_byte: code.instructions as f64 / bytes,
            code,
        }
    }

    /// The kernel, in words for people.
    pub fn name(&self) -> String {
        let options = if self.options.is_empty() { String::new() } else { format!(" ({})", self.options) };
        format!("{} to {}{options} on {}", self.from, self.to, self.chip)
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, options, chip, elements, per_byte, code } = self;
        let Code { instructions, registers, spills, scratch } = code;
        write!(f, "{from},{to},{options},{chip},{instructions},{elements},{per_byte:.3},{registers},{spills},{scratch}")
    }
}

impl FromStr for Row {
    type Err = Box<dyn std::error::Error>;

    fn from_str(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [from, to, options, chip, instructions, elements, per_byte, registers, spills, scratch] = fields[..] else {
            return Err(format!("not a row: {line:?}").into());
        };
        let code = Code {
            instructions: instructions.parse()?,
            registers: registers.parse()?,
            spills: spills.parse()?,
            scratch: scratch.parse()?,
        };
        let [from, to, options, chip] = [from, to, options, chip].map(str::to_owned);
        Ok(Self { from, to, options, chip, elements: elements.parse()?, per_byte: per_byte.parse()?, code })
    }
}

/// All rows, and the driver that counted.
pub struct Table {
    pub driver: String,
    pub rows: Vec<Row>,
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}\n{COLUMNS}", self.driver)?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl FromStr for Table {
    type Err = Box<dyn std::error::Error>;

    fn from_str(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let driver = lines.next().and_then(|line| line.strip_prefix("# ")).ok_or("no line with the driver")?.to_owned();
        if lines.next() != Some(COLUMNS) {
            return Err("other columns".into());
        }
        let rows = lines.map(str::parse).collect::<Result<_>>()?;
        Ok(Self { driver, rows })
    }
}
