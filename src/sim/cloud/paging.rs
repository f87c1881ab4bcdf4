//! The products' ways of cutting a long list into pages.

use super::{error::Failure, params::Params};

/// One page by number.
pub(crate) struct Numbered<T> {
    pub(crate) items: Vec<T>,
    pub(crate) number: usize,
    pub(crate) size: usize,
    pub(crate) total: usize,
}

/// One page by token.
pub(crate) struct Tokened<T> {
    pub(crate) items: Vec<T>,
    pub(crate) size: usize,
    pub(crate) next: Option<String>,
    pub(crate) total: usize,
}

/// `PageNumber` and `PageSize`. A page past the end is empty.
pub(crate) fn numbered<T>(params: &Params, all: Vec<T>, default: usize, max: usize) -> Result<Numbered<T>, Failure> {
    let number = params.number::<usize>("PageNumber")?.unwrap_or(1);
    let size = params.number::<usize>("PageSize")?.unwrap_or(default);
    if number == 0 {
        return Err(Failure::invalid("PageNumber"));
    }
    if size == 0 || size > max {
        return Err(Failure::invalid("PageSize"));
    }
    let total = all.len();
    let items = all.into_iter().skip(number.saturating_sub(1).saturating_mul(size)).take(size).collect();
    Ok(Numbered { items, number, size, total })
}

/// `NextToken` with a page size of the caller's choice. The token is opaque to callers; it
/// holds the position.
pub(crate) fn tokened<T>(params: &Params, all: Vec<T>, size: usize) -> Result<Tokened<T>, Failure> {
    let start = match params.get("NextToken") {
        None => 0,
        Some(token) => token
            .strip_prefix("AAAAA")
            .and_then(|text| usize::from_str_radix(text, 36).ok())
            .filter(|start| *start <= all.len() || all.is_empty())
            .ok_or_else(|| Failure::invalid("NextToken"))?,
    };
    let total = all.len();
    let items: Vec<T> = all.into_iter().skip(start).take(size).collect();
    let end = start + items.len();
    let next = (end < total).then(|| format!("AAAAA{}", base36(end)));
    Ok(Tokened { items, size, next, total })
}

/// The wanted page size between 1 and `max`, `default` if absent.
pub(crate) fn size(params: &Params, name: &str, default: usize, max: usize) -> Result<usize, Failure> {
    let size = params.number::<usize>(name)?.unwrap_or(default);
    if (1..=max).contains(&size) { Ok(size) } else { Err(Failure::invalid(name)) }
}

fn base36(mut value: usize) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(u32::try_from(value % 36).unwrap_or_default(), 36).unwrap_or('0'));
        value /= 36;
        if value == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> Params {
        Params::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn tokens_walk_through_the_whole_list() {
        let all: Vec<usize> = (0..100).collect();
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let page = tokened(&params(&[("NextToken", &token)]), all.clone(), 33).unwrap();
            seen.extend(page.items);
            match page.next {
                Some(next) => token = next,
                None => break,
            }
        }
        assert_eq!(seen, all);
        assert!(tokened(&params(&[("NextToken", "what")]), all, 33).is_err());
    }

    #[test]
    fn a_page_past_the_end_is_empty() {
        let page = numbered(&params(&[("PageNumber", "9")]), vec![1, 2, 3], 10, 50).unwrap();
        assert!(page.items.is_empty());
        assert_eq!((page.number, page.size, page.total), (9, 10, 3));
        assert!(numbered(&params(&[("PageSize", "51")]), vec![1], 10, 50).is_err());
    }
}
