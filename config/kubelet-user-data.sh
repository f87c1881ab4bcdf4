#!/bin/sh
# User data of an instance that becomes a node: derives from the metadata server the three kubelet
# arguments that an external cloud provider needs, before kubelet starts for the first time.
# Written for kubeadm, whose kubelet reads KUBELET_EXTRA_ARGS from the file made here. kubeadm itself
# has to be told the same name: kubeadm join --node-name "$region.$instance" ...
set -eu

metadata=http://100.100.100.200/latest
token=$(curl -sf --max-time 5 -X PUT -H 'X-aliyun-ecs-metadata-token-ttl-seconds: 300' "$metadata/api/token")
fact() {
    curl -sf --max-time 5 -H "X-aliyun-ecs-metadata-token: $token" "$metadata/meta-data/$1"
}
region=$(fact region-id)
instance=$(fact instance-id)

# Debian and Ubuntu read /etc/default/kubelet, Alibaba Cloud Linux and others /etc/sysconfig/kubelet.
file=/etc/default/kubelet
[ -d /etc/sysconfig ] && file=/etc/sysconfig/kubelet
cat > "$file" <<ARGUMENTS
KUBELET_EXTRA_ARGS=--cloud-provider=external --provider-id=$region.$instance --hostname-override=$region.$instance
ARGUMENTS
