//! World files as people write them: what is wrong is told with its line.

use jiff::Timestamp;

use super::{World, WorldError};
use crate::entropy::Entropy;

/// Why a text is no world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongWorld {
    /// Counted from 1; absent if it cannot be told.
    pub line: Option<usize>,
    pub reason: String,
}

// === impl World ===

impl World {
    /// Reads a world file and makes sure that a cloud can start with it.
    pub fn read(text: &str) -> Result<Self, WrongWorld> {
        let world: Self = serde_yaml::from_str(text).map_err(|error| WrongWorld::from_yaml(&error))?;
        match world.clone().into_state(Timestamp::default(), &Entropy::seeded(0)) {
            Ok(_) => Ok(world),
            Err(error) => Err(WrongWorld::from_world(&error, text)),
        }
    }
}

// === impl WrongWorld ===

impl WrongWorld {
    fn from_yaml(error: &serde_yaml::Error) -> Self {
        let text = error.to_string();
        let line = error.location().map(|location| location.line());
        // The reader puts the place at the end of its sentence.
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        Self { line, reason: reason.to_owned() }
    }

    fn from_world(error: &WorldError, text: &str) -> Self {
        let (object, value) = match error {
            WorldError::Missing { object, value, .. } => (object, value),
            WorldError::Address { object, address, .. } => (object, address),
            WorldError::Yaml(error) => return Self::from_yaml(error),
        };
        let reason = error.to_string();
        let reason = reason.strip_prefix("world file: ").unwrap_or(&reason).to_owned();
        Self { line: line_of(text, object, value), reason }
    }
}

impl std::fmt::Display for WrongWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

/// The line that gives `object` this value, else the one that names it.
fn line_of(text: &str, object: &str, value: &str) -> Option<usize> {
    let start = text.lines().position(|line| pairs(line).any(|(key, id)| key == "id" && id == object))?;
    let given = text.lines().skip(start).position(|line| pairs(line).any(|(_, given)| given == value));
    Some(start + given.unwrap_or(0) + 1)
}

/// The keys and plain values on a line, in either of YAML's styles.
fn pairs(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let line = line.split_once(" #").map_or(line, |(line, _)| line);
    let parts = line.split(['{', '}', ',']).map(|part| part.trim_start_matches(['-', ' ']));
    parts.filter_map(|part| part.split_once(':')).map(|(key, value)| (key, value.trim().trim_matches(['"', '\''])))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "\
regions: [{ id: r, zones: [r-a] }]
vpcs:
  - id: vpc-1
    region: r
    cidr: 10.0.0.0/16
vswitches:
  - id: vsw-1
    vpc: vpc-1
    zone: r-a
    cidr: 10.0.0.0/24
security_groups:
  - { id: sg-1, vpc: vpc-1 }
instances:
  - id: i-1
    vswitch: vsw-1
";

    #[test]
    fn a_whole_world_is_read() {
        assert_eq!(World::read(START).map(|world| world.instances.len()), Ok(1));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (from, to, told) in [
            ("zone: r-a", "zone: r-b # nowhere", "line 9: vsw-1 names zone \"r-b\", which the file does not have"),
            ("vswitch: vsw-1", "vswitch: vsw-2", "line 15: i-1 names vswitch \"vsw-2\", which the file does not have"),
            ("sg-1, vpc: vpc-1", "sg-1, vpc: vpc-2", "line 12: sg-1 names vpc \"vpc-2\", which the file does not have"),
            ("region: r", "colour: r", "line 4: vpcs[0]: unknown field `colour`"),
            ("cidr: 10.0.0.0/24", "cidr: wide", "line 10: vswitches[0].cidr: invalid IP address syntax"),
            ("vpcs:", "vpcs", "line 3: "),
            (
                "    vswitch: vsw-1",
                "    vswitch: vsw-1\n    private_ip: 10.9.9.9",
                "line 16: i-1 cannot have the address 10.9.9.9: outside vswitch vsw-1 or taken",
            ),
        ] {
            let wrong = World::read(&START.replace(from, to)).unwrap_err().to_string();
            assert!(wrong.starts_with(told), "{from} -> {to}: {wrong}");
        }
    }
}
