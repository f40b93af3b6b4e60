//! Limits of the counts, and the comparison with the counts before.

use std::collections::BTreeMap;

use wgpu_cast::ElementType;

use crate::Result;
use crate::table::{Row, Table};

/// The limit of the median over all kernels of a chip.
const MEDIAN: f64 = 3.0;

/// The kinds of pairs. Each has a limit: the instructions for each byte that its kernels may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Narrow,
    Sixteen,
    Wide,
}

impl Class {
    fn of(row: &Row) -> Result<Self> {
        let bits = |name: &str| -> Result<u32> { Ok(name.parse::<ElementType>()?.bits().unwrap_or_default()) };
        Ok(match (bits(&row.from)?, bits(&row.to)?) {
            (..=8, _) => Class::Narrow,
            (16, ..=16) => Class::Sixteen,
            _ => Class::Wide,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Class::Narrow => "from at most 8 bits",
            Class::Sixteen => "from 16 bits to at most 16",
            Class::Wide => "others: a side of at least 32 bits",
        }
    }

    const fn limit(self) -> f64 {
        match self {
            Class::Narrow | Class::Wide => 6.0,
            Class::Sixteen => 8.0,
        }
    }
}

/// The counts that are beyond a limit.
pub fn passed(table: &Table) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (chip, median, _) in summary(table)? {
        if median > MEDIAN {
            wrong.push(format!("{chip}: median of {median:.2} instructions per byte, the limit is {MEDIAN}"));
        }
    }
    for row in &table.rows {
        let limit = Class::of(row)?.limit();
        if row.per_byte > limit {
            wrong.push(format!("{}: {:.2} instructions per byte, the limit is {limit}", row.name(), row.per_byte));
        }
        if row.code.spills + row.code.scratch > 0 {
            let (spills, scratch) = (row.code.spills, row.code.scratch);
            wrong.push(format!("{}: {spills} spilled registers, {scratch} bytes of scratch", row.name()));
        }
    }
    Ok(wrong)
}

/// The counts that are worse than before.
pub fn worsened(before: &Table, now: &Table) -> Vec<String> {
    let old: BTreeMap<_, _> = before.rows.iter().map(|row| (row.name(), row)).collect();
    let mut wrong = Vec::new();
    for row in &now.rows {
        match old.get(&row.name()) {
            None => wrong.push(format!("{}: missing from the table", row.name())),
            // The table has three digits after the point, so smaller differences come from rounding.
            Some(old) if row.per_byte > old.per_byte + 0.0006 => {
                wrong.push(format!(
                    "{}: {:.2} instructions per byte, {:.2} in the table",
                    row.name(),
                    row.per_byte,
                    old.per_byte
                ));
            }
            Some(_) => {}
        }
    }
    let new: BTreeMap<_, _> = now.rows.iter().map(|row| (row.name(), ())).collect();
    let gone = before.rows.iter().filter(|row| !new.contains_key(&row.name()));
    wrong.extend(gone.map(|row| format!("{}: only in the table", row.name())));
    wrong
}

/// For each chip: the median, and the highest row of each class.
pub fn summary(table: &Table) -> Result<Vec<(String, f64, BTreeMap<Class, Row>)>> {
    let mut chips: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in &table.rows {
        match chips.iter_mut().find(|(chip, _)| *chip == row.chip) {
            Some((_, rows)) => rows.push(row),
            None => chips.push((row.chip.clone(), vec![row])),
        }
    }
    let mut summary = Vec::new();
    for (chip, mut rows) in chips {
        rows.sort_by(|a, b| a.per_byte.total_cmp(&b.per_byte));
        let mut highest = BTreeMap::new();
        for &row in &rows {
            highest.insert(Class::of(row)?, row.clone());
        }
        // The median of an even number of rows is the upper one of the two in the middle.
        summary.push((chip, rows[rows.len() / 2].per_byte, highest));
    }
    Ok(summary)
}

/// `summary`, for people.
pub fn report(table: &Table) -> Result<String> {
    let mut text = format!("{}, instructions per byte read or written\n", table.driver);
    for (chip, median, highest) in summary(table)? {
        text.push_str(&format!("{chip}: median {median:.2}\n"));
        for (class, row) in highest {
            text.push_str(&format!("  {}: at most {:.2}, {}\n", class.name(), row.per_byte, row.name()));
        }
    }
    Ok(text)
}
