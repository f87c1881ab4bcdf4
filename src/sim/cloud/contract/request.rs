//! Holds a call's parameters to the contract.

use super::{Action, Kind, Shape};
use crate::sim::cloud::{error::Failure, params::Params};

/// Parameters that every action takes.
const COMMON: [&str; 18] = [
    "AccessKeyId",
    "Action",
    "Format",
    "OwnerAccount",
    "OwnerId",
    "RegionId",
    "ResourceOwnerAccount",
    "ResourceOwnerId",
    "SecurityToken",
    "Signature",
    "SignatureMethod",
    "SignatureNonce",
    "SignatureType",
    "SignatureVersion",
    "TimeStamp",
    "Timestamp",
    "Version",
    "AcceptLanguage",
];

/// Returns the business parameters in the contract's spelling, or names what is unknown,
/// missing or of the wrong type.
pub(crate) fn check(action: &Action, given: &Params) -> Result<Params, Failure> {
    let mut known = Vec::new();
    for (name, value) in given.iter() {
        let head = name.split('.').next().unwrap_or(name);
        let Some((spelling, shape)) = find(action, head) else {
            if COMMON.contains(&name) {
                if name == "RegionId" {
                    known.push((name.to_owned(), value.to_owned()));
                }
                continue;
            }
            return Err(Failure::bad(
                "InvalidParameter",
                format!("The parameter \"{name}\" is not known to the action {}.", action.name),
            ));
        };
        let rest = &name[head.len()..];
        let value = value_of(action, shape, rest, name, value)?;
        known.push((format!("{}{rest}", upper_first(spelling)), value));
    }
    let known = Params::new(known);
    required(action, &known)?;
    Ok(known)
}

/// The create actions of SLB listeners spell some names with a small first letter and the
/// set actions do not; the service takes both.
fn find<'a>(action: &'a Action, head: &str) -> Option<(&'a str, &'a Shape)> {
    let exact = action.params.get_key_value(head);
    let found = exact.or_else(|| action.params.get_key_value(&other_first(head)));
    found.map(|(name, shape)| (name.as_str(), shape))
}

/// The same with a small first letter instead of a capital one, or the other way round.
fn other_first(name: &str) -> String {
    let mut letters = name.chars();
    let turned =
        |first: char| if first.is_ascii_uppercase() { first.to_ascii_lowercase() } else { first.to_ascii_uppercase() };
    letters.next().map_or_else(String::new, |first| turned(first).to_string() + letters.as_str())
}

fn upper_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// The value as the contract spells it. NLB takes the words of a choice in any case, the
/// other products only as they are written.
fn value_of(action: &Action, shape: &Shape, path: &str, name: &str, value: &str) -> Result<String, Failure> {
    if let Some(path) = path.strip_prefix('.') {
        let (segment, rest) = path.find('.').map_or((path, ""), |at| (&path[..at], &path[at..]));
        let inner = match shape.kind {
            Kind::Array if segment.parse::<u32>().is_ok_and(|index| index >= 1) => shape.items.as_deref(),
            Kind::Object => shape.fields.as_ref().and_then(|fields| fields.get(segment)),
            _ => None,
        };
        return inner.map_or_else(|| Err(Failure::invalid(name)), |inner| value_of(action, inner, rest, name, value));
    }
    let fits = if shape.json {
        serde_json::from_str::<serde_json::Value>(value).is_ok_and(|parsed| parsed.is_array() || parsed.is_object())
    } else {
        match shape.kind {
            Kind::String | Kind::Unknown => true,
            Kind::Integer => value.trim().parse::<i64>().is_ok(),
            Kind::Number => value.trim().parse::<f64>().is_ok(),
            Kind::Boolean => ["true", "false"].iter().any(|known| value.eq_ignore_ascii_case(known)),
            Kind::Array | Kind::Object => false,
        }
    };
    let chosen = shape.choices.as_ref().map_or(Some(value), |choices| {
        let exact = choices.iter().find(|choice| *choice == value);
        let any_case = || choices.iter().find(|choice| action.product == "nlb" && choice.eq_ignore_ascii_case(value));
        // The parameter's text, unlike its type, says that several may be joined by commas.
        let joined = || {
            let is_known = |word| choices.iter().any(|choice| choice == word);
            (name == "HealthCheckHttpCode" && value.split(',').all(is_known)).then_some(value)
        };
        exact.or_else(any_case).map(String::as_str).or_else(joined)
    });
    chosen.filter(|_| fits).map(str::to_owned).ok_or_else(|| Failure::invalid(name))
}

fn required(action: &Action, given: &Params) -> Result<(), Failure> {
    for (name, shape) in &action.params {
        let spelled = upper_first(name);
        let inside =
            || given.iter().any(|(key, _)| key.strip_prefix(&spelled).is_some_and(|rest| rest.starts_with('.')));
        if shape.required && !given.has(&spelled) && !inside() {
            return Err(Failure::missing(name));
        }
        let fields = shape.items.as_deref().filter(|_| shape.kind == Kind::Array).and_then(|item| item.fields.as_ref());
        for (field, _) in fields.into_iter().flatten().filter(|(_, inner)| inner.required) {
            for (index, element) in given.objects(&spelled).iter().enumerate() {
                if !element.has(field) {
                    return Err(Failure::missing(&format!("{name}.{}.{field}", index + 1)));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::cloud::contract::Contract;

    fn run(action: &str, params: &[(&str, &str)]) -> Result<Params, Failure> {
        let (product, action) = action.split_once('.').unwrap();
        let given = Params::new(params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        check(Contract::get().action(product, action).unwrap(), &given)
    }

    #[test]
    fn unknown_missing_and_ill_typed_parameters_are_named() {
        let region = ("RegionId", "cn-hangzhou");
        let refused = |params: &[(&str, &str)]| run("slb.CreateLoadBalancer", params).unwrap_err();
        assert_eq!(refused(&[]).code, "MissingParameter");
        assert!(refused(&[region, ("Colour", "red")]).message.contains("\"Colour\""));
        assert!(refused(&[region, ("Bandwidth", "much")]).message.contains("\"Bandwidth\""));
        assert!(refused(&[region, ("AddressType", "Internet")]).message.contains("\"AddressType\""));
        assert!(refused(&[region, ("Tag.0.Key", "k")]).message.contains("\"Tag.0.Key\""));
        assert!(refused(&[region, ("Tag", "k")]).message.contains("\"Tag\""));
        assert!(run("slb.CreateLoadBalancer", &[region, ("Tag.1.Key", "k"), ("Bandwidth", "5")]).is_ok());
    }

    #[test]
    fn healthy_answers_are_one_or_more_known_words() {
        for (codes, is_taken) in [("http_2xx", true), ("http_2xx,http_3xx", true), ("http_2xx,200", false)] {
            let listener = [("RegionId", "cn-hangzhou"), ("LoadBalancerId", "lb-1"), ("ListenerPort", "80")];
            let params = [&listener[..], &[("Bandwidth", "-1"), ("HealthCheckHttpCode", codes)]].concat();
            assert_eq!(run("slb.CreateLoadBalancerTCPListener", &params).is_ok(), is_taken, "{codes}");
        }
    }

    #[test]
    fn required_fields_inside_lists_are_missed() {
        let refused = run(
            "vpc.CreateRouteEntries",
            &[("RegionId", "cn-hangzhou"), ("RouteEntries.1.RouteTableId", "vtb-1"), ("RouteEntries.1.NextHop", "i-1")],
        )
        .unwrap_err();
        assert!(refused.message.contains("RouteEntries.1."), "{}", refused.message);
    }

    #[test]
    fn both_spellings_of_the_health_check_interval_arrive_as_one() {
        for name in ["healthCheckInterval", "HealthCheckInterval"] {
            let params = [
                ("RegionId", "cn-hangzhou"),
                ("LoadBalancerId", "lb-1"),
                ("ListenerPort", "80"),
                ("Bandwidth", "-1"),
                (name, "5"),
            ];
            assert_eq!(
                run("slb.CreateLoadBalancerTCPListener", &params).unwrap().get("HealthCheckInterval"),
                Some("5")
            );
        }
    }
}
