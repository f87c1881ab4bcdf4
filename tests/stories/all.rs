//! The list of stories. A line here is a test on either cluster.

/// Makes a test of each story, played by the given function.
#[macro_export]
macro_rules! each_story {
    ($play:ident) => {
        each_story! { $play:
            nodes::pods_run_once_their_node_is_initialised;
            nodes::the_node_of_a_released_instance_goes;
            nodes::a_node_has_a_route_for_its_pods;
            autoscaling::a_scaling_group_goes_from_3_to_30_and_back;
            services::a_service_lives_from_creation_to_deletion;
            services::members_follow_nodes_and_traffic_policy;
            services::two_services_do_not_mind_each_other;
            conflicts::what_others_change_meanwhile_is_kept_and_the_work_gets_done;
            events::what_was_done_and_what_is_wrong_is_told;
            outages::a_leader_cut_off_is_followed_and_writes_no_more;
            outages::an_outage_longer_than_the_lease_is_made_up_for;
            outages::connections_that_break_all_the_time_delay_the_work_and_no_more;
            outages::a_slow_watch_leads_to_no_stale_decision;
            outages::constant_edits_by_others_cause_no_flood;
            replicas::a_killed_leader_is_followed_without_a_write;
            replicas::a_stopped_leader_gives_its_lease_back;
        }
    };
    ($play:ident: $($file:ident::$story:ident;)+) => {
        $(#[test] fn $story() { $play($crate::$file::$story); })+
    };
}
