package sdk

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alibabacloud-go/tea/tea"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/slb"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/sts"
	"github.com/aliyun/credentials-go/credentials"
	"github.com/aliyun/credentials-go/credentials/providers"
)

const (
	roleArn  = "acs:ram::" + account + ":role/ack-rrsa"
	provider = "acs:ram::" + account + ":oidc-provider/ack-rrsa"
	// A token has three parts; nobody checks the signature of this one.
	token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6a3ViZS1zeXN0ZW06Y2NtIn0.c2ln"
)

func identity(c *cloud) *sts.GetCallerIdentityResponse {
	c.Helper()
	return ok(c, c.sts.GetCallerIdentity, sts.CreateGetCallerIdentityRequest(), nil)
}

func TestAccountIdentity(t *testing.T) {
	both(t, func(c *cloud) {
		who := identity(c)
		same(c, "who", []string{who.IdentityType, who.AccountId, who.Arn}, []string{"Account", account, "acs:ram::" + account + ":root"})
	})
}

func TestAssumedRole(t *testing.T) {
	both(t, func(c *cloud) {
		session := ok(c, c.sts.AssumeRole, sts.CreateAssumeRoleRequest(), set{"RoleArn": roleArn, "RoleSessionName": "ccm", "DurationSeconds": "900"})
		ends, err := time.Parse(time.RFC3339, session.Credentials.Expiration)
		same(c, "ends", []any{err, ends.Sub(now(c).Truncate(time.Second))}, []any{nil, 15 * time.Minute})
		same(c, "user", session.AssumedRoleUser.Arn, "acs:ram::"+account+":role/ack-rrsa/ccm")
		issued := key{session.Credentials.AccessKeyId, session.Credentials.AccessKeySecret, session.Credentials.SecurityToken}
		of(c.T, issued, func(c *cloud) {
			who := identity(c)
			same(c, "who", []string{who.IdentityType, who.Arn}, []string{"AssumedRoleUser", "acs:ram::" + account + ":assumed-role/ack-rrsa/ccm"})
			ok(c, c.slb.DescribeRegions, slb.CreateDescribeRegionsRequest(), nil)
		})
		of(c.T, key{issued.id, issued.secret, ""}, func(c *cloud) {
			refused(c, 400, "MissingParameter", c.slb.DescribeRegions, slb.CreateDescribeRegionsRequest(), nil)
		})
		of(c.T, key{issued.id, issued.secret, issued.token + "x"}, func(c *cloud) {
			refused(c, 400, "InvalidSecurityToken.MismatchWithAccessKey", c.slb.DescribeRegions, slb.CreateDescribeRegionsRequest(), nil)
		})
		refused(c, 404, "EntityNotExist.Role", c.sts.AssumeRole, sts.CreateAssumeRoleRequest(), set{"RoleArn": "acs:ram::1:role/other", "RoleSessionName": "ccm"})
		refused(c, 400, "InvalidParameter", c.sts.AssumeRole, sts.CreateAssumeRoleRequest(), set{"RoleArn": roleArn, "RoleSessionName": "x"})

		federated := ok(c, c.sts.AssumeRoleWithOIDC, sts.CreateAssumeRoleWithOIDCRequest(), set{
			"RoleArn": roleArn, "OIDCProviderArn": provider, "OIDCToken": token, "RoleSessionName": "pod"})
		same(c, "federated", federated.AssumedRoleUser.Arn, "acs:ram::"+account+":role/ack-rrsa/pod")
		refused(c, 404, "EntityNotExist.OIDCProvider", c.sts.AssumeRoleWithOIDC, sts.CreateAssumeRoleWithOIDCRequest(), set{
			"RoleArn": roleArn, "OIDCProviderArn": "acs:ram::1:oidc-provider/x", "OIDCToken": token, "RoleSessionName": "pod"})
	})
}

// used checks that a credential of the library signs calls that the cloud takes, and returns it.
func used(t *testing.T, credential credentials.Credential, who string) {
	t.Helper()
	issued, err := credential.GetCredential()
	if err != nil {
		t.Fatal(err)
	}
	of(t, key{tea.StringValue(issued.AccessKeyId), tea.StringValue(issued.AccessKeySecret), tea.StringValue(issued.SecurityToken)}, func(c *cloud) {
		same(c, "who", strings.HasPrefix(identity(c).Arn, who), true)
	})
}

func metadata(t *testing.T, method, path string, headers map[string]string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, simulator+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body(t, response)
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	bytes, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes)
}

// instanceRole asks the metadata server for keys as on an instance. The library knows it by its
// address alone, so the simulator is put before that as a proxy.
func instanceRole(t *testing.T, sessionsOnly bool) credentials.Credential {
	t.Helper()
	provider, err := providers.NewECSRAMRoleCredentialsProviderBuilder().WithDisableIMDSv1(sessionsOnly).
		WithHttpOptions(&providers.HttpOptions{Proxy: simulator}).Build()
	if err != nil {
		t.Fatal(err)
	}
	return credentials.FromCredentialsProvider("ecs_ram_role", provider)
}

func TestRoleOfTheInstance(t *testing.T) {
	for name, sessionsOnly := range map[string]bool{"with or without session": false, "session only": true} {
		t.Run(name, func(t *testing.T) {
			used(t, instanceRole(t, sessionsOnly), "acs:ram::"+account+":assumed-role/"+role+"/")
		})
	}
	status, list := metadata(t, "GET", "/latest/meta-data/ram/security-credentials/", nil)
	if status != 200 || strings.TrimSpace(list) != role {
		t.Errorf("without a session: %d %q", status, list)
	}
	if status, _ = metadata(t, "GET", "/latest/meta-data/ram/security-credentials/other", nil); status != 404 {
		t.Errorf("another role: %d", status)
	}
	status, session := metadata(t, "PUT", "/latest/api/token", map[string]string{"X-aliyun-ecs-metadata-token-ttl-seconds": "60"})
	if status != 200 {
		t.Fatalf("no session: %d", status)
	}
	status, document := metadata(t, "GET", "/latest/dynamic/instance-identity/document", map[string]string{"X-aliyun-ecs-metadata-token": session})
	var parsed map[string]any
	if err := json.Unmarshal([]byte(document), &parsed); status != 200 || err != nil || parsed["region-id"] != region {
		t.Errorf("identity document: %d %v %v", status, err, parsed)
	}
	if status, _ = metadata(t, "GET", "/latest/meta-data/region-id", map[string]string{"X-aliyun-ecs-metadata-token": "made-up"}); status != 401 {
		t.Errorf("a made-up session: %d", status)
	}
	if status, _ = metadata(t, "PUT", "/latest/api/token", nil); status != 400 {
		t.Errorf("a session without end: %d", status)
	}
}

// The library speaks to STS over TLS only.
func TestRoleOfThePod(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	credential, err := credentials.NewCredential(new(credentials.Config).
		SetType("oidc_role_arn").SetRoleArn(roleArn).SetOIDCProviderArn(provider).SetOIDCTokenFilePath(file).
		SetRoleSessionName("pod").SetSTSEndpoint(tlsHost))
	if err != nil {
		t.Fatal(err)
	}
	used(t, credential, "acs:ram::"+account+":assumed-role/ack-rrsa/pod")
	all := calls(t, "sts", "AssumeRoleWithOIDC")
	if last := all[len(all)-1]; last.Caller.AccessKey != "" || last.Params["OIDCToken"] != "" {
		t.Errorf("the call was signed, or its token was logged: %+v", last)
	}
}

func TestRoleByKey(t *testing.T) {
	credential, err := credentials.NewCredential(new(credentials.Config).
		SetType("ram_role_arn").SetAccessKeyId(keyID).SetAccessKeySecret(secret).SetRoleArn(roleArn).
		SetRoleSessionName("by-key").SetSTSEndpoint(tlsHost))
	if err != nil {
		t.Fatal(err)
	}
	used(t, credential, "acs:ram::"+account+":assumed-role/ack-rrsa/by-key")
}

func TestKeysFromSTS(t *testing.T) {
	c := v1(t, key{keyID, secret, ""})
	session := ok(c, c.sts.AssumeRole, sts.CreateAssumeRoleRequest(), set{"RoleArn": roleArn, "RoleSessionName": "sts"})
	credential, err := credentials.NewCredential(new(credentials.Config).
		SetType("sts").SetAccessKeyId(session.Credentials.AccessKeyId).SetAccessKeySecret(session.Credentials.AccessKeySecret).
		SetSecurityToken(session.Credentials.SecurityToken))
	if err != nil {
		t.Fatal(err)
	}
	used(t, credential, "acs:ram::"+account+":assumed-role/ack-rrsa/sts")
}
