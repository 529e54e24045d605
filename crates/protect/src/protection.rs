//! All ways of protection, behind one type.

use crate::GroupScheme;
use crate::code_zones::CodeZones;
use crate::lazy::ReadAround;
use crate::seam::{RowScheme, StripeScheme};

/// How a drive's data are protected.
pub enum Protection {
    /// Not at all: a page goes to any die.
    None,
    /// By stripes of logical pages, one strip on each die's region log.
    Stripes(Box<dyn StripeScheme>),
    /// By rows of a group log.
    Rows(Box<dyn RowScheme>),
    /// By page stripes of block groups, in a group log.
    Groups(Box<dyn GroupScheme>),
    /// Not at all, but zones that are read often have code that stands in for busy and for lost pages.
    Zones(Box<CodeZones>),
}

impl Protection {
    /// The scheme of static stripes, of a drive that has them.
    #[must_use]
    pub fn stripes(&self) -> Option<&dyn StripeScheme> {
        if let Protection::Stripes(scheme) = self { Some(&**scheme) } else { None }
    }

    /// The scheme of rows, of a drive that writes rows.
    #[must_use]
    pub fn rows(&self) -> Option<&dyn RowScheme> {
        if let Protection::Rows(scheme) = self { Some(&**scheme) } else { None }
    }

    /// The scheme of block groups, of a drive that has them.
    #[must_use]
    pub fn groups(&self) -> Option<&dyn GroupScheme> {
        if let Protection::Groups(scheme) = self { Some(&**scheme) } else { None }
    }

    /// The code zones of a drive that writes to zones.
    #[must_use]
    pub fn zones(&self) -> Option<&CodeZones> {
        if let Protection::Zones(zones) = self { Some(zones) } else { None }
    }

    /// Dies whose loss loses no acknowledged data.
    #[must_use]
    pub fn survives_dies(&self) -> u32 {
        match self {
            Protection::None | Protection::Zones(_) => 0,
            Protection::Stripes(scheme) => scheme.survives_dies(),
            Protection::Rows(_) => 1,
            Protection::Groups(scheme) => scheme.survives_dies(),
        }
    }

    /// When reads have alternatives; `None`: never.
    #[must_use]
    pub fn read_around(&self) -> Option<ReadAround> {
        match self {
            Protection::Stripes(scheme) => scheme.read_around(),
            Protection::Rows(scheme) => scheme.read_around(),
            Protection::Zones(scheme) => scheme.read_around(),
            Protection::Groups(scheme) => scheme.read_around(),
            Protection::None => None,
        }
    }
}

impl Clone for Protection {
    fn clone(&self) -> Self {
        match self {
            Protection::None => Protection::None,
            Protection::Stripes(scheme) => Protection::Stripes(scheme.boxed_clone()),
            Protection::Rows(scheme) => Protection::Rows(scheme.boxed_clone()),
            Protection::Groups(scheme) => Protection::Groups(scheme.boxed_clone()),
            Protection::Zones(scheme) => Protection::Zones(scheme.clone()),
        }
    }
}
