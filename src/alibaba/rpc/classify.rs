//! From what the cloud answered to the class that callers decide by.
//!
//! Codes are compared without regard to case, because the service is not consistent in it.
//! Sources: the gateway's common codes, each product's error tables, and the codes that the
//! vendor's own tools retry.

use super::Kind;
use crate::cloud::Class;

/// The object is in the middle of a change. Nothing was changed; the same call works shortly.
const BUSY: &[&str] = &[
    // SLB
    "systembusy",
    "operationbusy",
    "serviceisstopping",
    "backendserver.configuring",
    "serviceisconfiguring",
    "vservergroupprocessing",
    "listenerprocessing",
    "operationfailed.listenerstatusnotsupport",
    "operationfailed.servicegroupprocessing",
    "domainextensionprocessing",
    "aclentryprocessing",
    "resourceinconfiguring.acl",
    "operationfailed.aclbindedwithvip",
    "vpcsystembusy",
    // VPC
    "taskconflict",
    "incorrectrouteentrystatus",
    "incorrcetrouteentrystatus",
    "incorrectvpcstatus",
    "incorrectstatus.routeentry",
    "incorrectstatus.vpcrouteentry",
    "incorrectinstancestatus",
    "operationconflict",
    "operationfailed.distibutelock",
    "lasttokenprocessing",
    "operationfailed.lasttokenprocessing",
    "vpc_route_entry_status_error",
    // ECS
    "invalidoperation.conflict",
    // NLB and tokens
    "conflict",
    "conflict.lock",
    "operationfailed.resourceisconfiguring",
    "operationfailed.tokenisprocessing",
    // A listener that used the group, or a load balancer that was in the security group, may be on
    // its way out.
    "resourceinuse.servergroup",
    "dependencyviolation",
];

/// Beginnings of codes that mean the same, followed by what is busy (NLB).
const BUSY_PREFIXES: &[&str] = &["incorrectstatus.", "resourceinconfiguring.", "resourceincreating."];

/// The object that the call is about does not exist. Objects that the call merely mentions
/// (a vSwitch in a creation, a server in a member list) are [`Class::Invalid`] instead.
const NOT_FOUND: &[&str] = &[
    "invalidloadbalancerid.notfound",
    "resourcenotfound.loadbalancer",
    "resourcenotfound.servergroup",
    "resourcenotfound.jobid",
    "invalidsecuritygroupid.notfound",
    "invalidsecuritygroup.notfound",
    "invalidparam.securitygroupruleid",
    "listenernotfound",
    "resourcenotfound.listener",
    "resourcenotfound.vservergroup",
    "invalidvservergroupid.notfound",
    "invalidrouteentry.notfound",
    "invalidroutetableid.notfound",
    "invalidroutetable.notfound",
    "invalidinstanceid.notfound",
    "invalidecsid.notfound",
    "invalideniid.notfound",
    "vpc_router_entry_not_exist",
    "the specified vservergroupid does not exist",
    "the specified resource does not exist",
    "the specified loadbalancerid does not exist",
];

/// The same, told only by the message (with code `InvalidParameter`).
const NOT_FOUND_TEXTS: &[&str] = &[
    "the specified resource does not exist",
    "the specified vservergroupid does not exist",
    "the specified loadbalancerid does not exist",
];

/// Beginnings of codes that mean: not with these credentials.
const DENIED: &[&str] = &[
    "forbidden",
    "forbbiden",
    "nopermission",
    "unauthorized",
    "notauthorized",
    "accessdenied",
    "authenticationfail",
    "auth.ram_auth_failed",
    "invalidaccesskeyid",
    "inactiveaccesskey",
    "invalidsecuritytoken",
    "missingsecuritytoken",
    "signaturedoesnotmatch",
    "incompletesignature",
    "invalidtimestamp",
    "securityrisk",
    "operationforbidden.accountriskreject",
    "usernotallowed",
    "risk.risk_control",
];

/// Parts of codes that mean: a quota or the money is used up.
const QUOTA: &[&str] = &[
    "quota",
    "overlimit",
    "limitexceed",
    "sizelimitexceeded",
    "toomanylisteners",
    "resourcelimit",
    "arrear",
    "insufficientbalance",
    "insufficient_balance",
    "cashbookinsufficient",
    "unpaidbill",
    "unpaid_order",
    "unsettled_bills",
    "insufficient_stock",
    "subnetipexhaust",
    "vswitchavailableipnotexist",
];

/// The server failed before it changed anything.
const UNAVAILABLE: &[&str] =
    &["serviceunavailable", "sdk.serverunreachable", "locationservicetimeout", "signaturenonceused"];

/// The server failed, and does not say how far it had come.
const INTERNAL: &[&str] = &["internalerror", "unknownerror", "createordertimeout"];

/// Classifies an answer that is not a success.
pub fn classify(status: u16, code: &str, message: &str, kind: Kind) -> Class {
    let code = code.trim().to_ascii_lowercase();
    let code = code.as_str();
    let message = message.to_ascii_lowercase();
    if status == 429 || code.starts_with("throttling") || code == "rejected.throttling" {
        Class::Throttled
    } else if BUSY.contains(&code) || BUSY_PREFIXES.iter().any(|prefix| code.starts_with(prefix)) {
        Class::Busy
    } else if NOT_FOUND.contains(&code)
        || (code == "invalidparameter" && NOT_FOUND_TEXTS.iter().any(|text| message.contains(text)))
    {
        Class::NotFound
    } else if DENIED.iter().any(|prefix| code.starts_with(prefix)) {
        Class::Denied
    } else if QUOTA.iter().any(|part| code.contains(part)) {
        Class::Quota
    } else if UNAVAILABLE.contains(&code) || status == 503 {
        Class::Transient
    } else if INTERNAL.contains(&code) || status >= 500 {
        match kind {
            Kind::Read => Class::Transient,
            Kind::Write => Class::Unknown,
        }
    } else if matches!(status, 401 | 403) {
        Class::Denied
    } else if message.contains("try again") {
        Class::Busy
    } else {
        Class::Invalid
    }
}

/// Whether the cloud did not accept the key itself, so that a fresh one may be accepted.
pub(super) fn rejects_the_key(code: &str) -> bool {
    let code = code.to_ascii_lowercase();
    code.starts_with("invalidsecuritytoken") || code.starts_with("invalidaccesskeyid")
}

/// Whether a `Code` in a 2xx reply stands for success.
pub(super) fn is_success(code: &str) -> bool {
    code.is_empty() || code == "200" || code.eq_ignore_ascii_case("success") || code.eq_ignore_ascii_case("ok")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_classified() {
        for (status, code, message, class) in [
            (400, "Throttling", "", Class::Throttled),
            (403, "Throttling.User", "", Class::Throttled),
            (400, "Throttling.Api", "", Class::Throttled),
            (429, "", "", Class::Throttled),
            (400, "Rejected.Throttling", "", Class::Throttled),
            (400, "SystemBusy", "", Class::Busy),
            (449, "SystemBusy", "", Class::Busy),
            (409, "BackendServer.configuring", "", Class::Busy),
            (400, "backendserver.CONFIGURING", "", Class::Busy),
            (409, "ServiceIsStopping", "", Class::Busy),
            (400, "VServerGroupProcessing", "", Class::Busy),
            (400, "OperationFailed.ListenerStatusNotSupport", "", Class::Busy),
            (400, "TaskConflict", "", Class::Busy),
            (400, "IncorrectStatus.RouteEntry", "", Class::Busy),
            (400, "OperationFailed.TokenIsProcessing", "", Class::Busy),
            (400, "Conflict.Lock", "", Class::Busy),
            (400, "IncorrectStatus.listener", "", Class::Busy),
            (400, "ResourceInConfiguring.loadbalancer", "", Class::Busy),
            (404, "ResourceNotFound.serverGroup", "", Class::NotFound),
            (404, "ResourceNotFound.VSwitch", "", Class::Invalid),
            (400, "QuotaExceeded.QuotaInsufficient", "", Class::Quota),
            (403, "InvalidOperation.Conflict", "", Class::Busy),
            (400, "SomethingNew", "The load balancer is locked, please try again later.", Class::Busy),
            (404, "InvalidLoadBalancerId.NotFound", "", Class::NotFound),
            (404, "ResourceNotFound.Listener", "", Class::NotFound),
            (404, "InvalidParameter", "The specified VServerGroupId does not exist.", Class::NotFound),
            (400, "InvalidParameter", "The specified resource does not exist.", Class::NotFound),
            (404, "The specified VServerGroupId does not exist", "", Class::NotFound),
            (404, "InvalidVSwitchId.NotFound", "", Class::Invalid),
            (400, "InvalidServerId.NotExist", "", Class::Invalid),
            (404, "InvalidAction.NotFound", "", Class::Invalid),
            (404, "InvalidAccessKeyId.NotFound", "", Class::Denied),
            (400, "InvalidSecurityToken.Expired", "", Class::Denied),
            (400, "SignatureDoesNotMatch", "", Class::Denied),
            (400, "InvalidTimeStamp.Expired", "", Class::Denied),
            (403, "Forbidden.RAM", "", Class::Denied),
            (403, "Forbbiden.SubUser", "", Class::Denied),
            (403, "UnauthorizedRegion", "", Class::Denied),
            (403, "AnythingElse", "", Class::Denied),
            (400, "QuotaInsufficient", "", Class::Quota),
            (400, "OverQuota", "", Class::Quota),
            (400, "ListenerNumberOverLimit", "", Class::Quota),
            (400, "VipTooManyListeners", "", Class::Quota),
            (400, "InstanceBackendServerNumberOverLimit", "", Class::Quota),
            (400, "ORDER.ARREARAGE", "", Class::Quota),
            (400, "PAY.INSUFFICIENT_BALANCE", "", Class::Quota),
            (400, "VSwitchAvailableIpNotExist", "", Class::Quota),
            (503, "ServiceUnavailable", "", Class::Transient),
            (400, "ServiceUnavailable", "", Class::Transient),
            (400, "SignatureNonceUsed", "", Class::Transient),
            (400, "InvalidParameter", "The specified value of parameter \"Bandwidth\" is not valid.", Class::Invalid),
            (400, "ListenerAlreadyExists", "", Class::Invalid),
            (400, "RspoolVipExist", "", Class::Invalid),
            (400, "LX_REQUEST_TOKEN_CONFLICT", "", Class::Invalid),
            (400, "OperationDenied.DeleteProtectionIsOn", "", Class::Invalid),
        ] {
            for kind in [Kind::Read, Kind::Write] {
                assert_eq!(classify(status, code, message, kind), class, "{status} {code} {message}");
            }
        }
    }

    #[test]
    fn a_server_failure_leaves_open_whether_a_write_took_effect() {
        for (status, code) in
            [(500, "InternalError"), (400, "InternalError"), (502, ""), (504, ""), (500, "UnknownError")]
        {
            assert_eq!(classify(status, code, "", Kind::Read), Class::Transient);
            assert_eq!(classify(status, code, "", Kind::Write), Class::Unknown);
        }
    }
}
