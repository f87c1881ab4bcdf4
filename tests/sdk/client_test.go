package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	"github.com/alibabacloud-go/tea/dara"
	"github.com/alibabacloud-go/tea/tea"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	sdkerrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/ecs"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/nlb"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/slb"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/sts"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/vpc"
)

// cloud is the simulated cloud as one caller sees it: through the classic SDK, which signs with
// RPC v1, or through the Tea core, which signs with ACS v3. Both take the classic SDK's requests
// and fill its responses; for two products the typed Tea SDKs are tried beside it.
type cloud struct {
	*testing.T
	slb *slb.Client
	ecs *ecs.Client
	vpc *vpc.Client
	nlb *nlb.Client
	sts *sts.Client
	// Set for ACS v3.
	tea *openapi.Client
}

// key is what a caller signs with.
type key struct{ id, secret, token string }

// set gives values to fields of a request by their names.
type set map[string]any

// refusal is an error of the service, as either SDK reports it.
type refusal struct {
	status  int
	code    string
	message string
	err     error
}

var (
	lock      sync.Mutex
	succeeded = map[string]bool{}
)

func drove(product, action, version string) {
	lock.Lock()
	defer lock.Unlock()
	succeeded[strings.ToLower(product)+"."+action+" "+version] = true
}

// both runs a scenario once for each signature version.
func both(t *testing.T, scenario func(c *cloud)) {
	t.Helper()
	t.Run("v1", func(t *testing.T) { scenario(v1(t, key{keyID, secret, ""})) })
	t.Run("v3", func(t *testing.T) { scenario(v3(t, key{keyID, secret, ""})) })
}

func v1(t *testing.T, key key) *cloud {
	t.Helper()
	c := &cloud{T: t, slb: &slb.Client{}, ecs: &ecs.Client{}, vpc: &vpc.Client{}, nlb: &nlb.Client{}, sts: &sts.Client{}}
	for _, client := range []*sdk.Client{&c.slb.Client, &c.ecs.Client, &c.vpc.Client, &c.nlb.Client, &c.sts.Client} {
		var err error
		if key.token == "" {
			err = client.InitWithAccessKey(region, key.id, key.secret)
		} else {
			err = client.InitWithStsToken(region, key.id, key.secret, key.token)
		}
		if err != nil {
			t.Fatal(err)
		}
		client.Domain = endpoint
	}
	return c
}

func v3(t *testing.T, key key) *cloud {
	t.Helper()
	c := v1(t, key)
	config := teaConfig(key)
	client, err := openapi.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	c.tea = client
	return c
}

func teaConfig(key key) *openapi.Config {
	config := &openapi.Config{
		AccessKeyId:     tea.String(key.id),
		AccessKeySecret: tea.String(key.secret),
		RegionId:        tea.String(region),
		Endpoint:        tea.String(endpoint),
		Protocol:        tea.String("HTTP"),
	}
	if key.token != "" {
		config.SecurityToken = tea.String(key.token)
	}
	return config
}

// fill sets the fields of a request.
func fill(t *testing.T, request any, fields set) {
	t.Helper()
	value := reflect.ValueOf(request).Elem()
	for name, wanted := range fields {
		field := value.FieldByName(name)
		if !field.IsValid() {
			t.Fatalf("%T has no field %s", request, name)
		}
		given := reflect.ValueOf(wanted)
		switch {
		case given.Type().AssignableTo(field.Type()):
			field.Set(given)
		case field.Kind() == reflect.String:
			field.SetString(fmt.Sprint(wanted))
		case given.Kind() == reflect.Slice && field.Kind() == reflect.Pointer:
			pointer := reflect.New(given.Type())
			pointer.Elem().Set(given)
			field.Set(pointer)
		default:
			t.Fatalf("%T.%s takes %s", request, name, field.Type())
		}
	}
}

// send makes one call.
func send[Q requests.AcsRequest, R any](c *cloud, call func(Q) (*R, error), request Q, fields set) (*R, error) {
	c.Helper()
	fill(c.T, request, fields)
	request.SetScheme("HTTP")
	if c.tea == nil {
		response, err := call(request)
		if err == nil {
			drove(request.GetProduct(), request.GetActionName(), "v1")
		}
		return response, err
	}
	if err := requests.InitParams(request); err != nil {
		c.Fatal(err)
	}
	query := pointers(request.GetQueryParams())
	query["RegionId"] = tea.String(region)
	body, err := c.callTea(request.GetVersion(), request.GetActionName(), request.GetMethod(), query, request.GetFormParams())
	if err != nil {
		return nil, err
	}
	name := strings.ToLower(request.GetProduct()) + "." + request.GetActionName()
	response := new(R)
	fits(c, name, body, response)
	if tea, found := teaBodies[name]; found {
		fits(c, name, body, reflect.New(reflect.TypeOf(tea)).Interface())
	}
	drove(request.GetProduct(), request.GetActionName(), "v3")
	return response, nil
}

func pointers(texts map[string]string) map[string]*string {
	all := map[string]*string{}
	for name, text := range texts {
		all[name] = tea.String(text)
	}
	return all
}

func (c *cloud) callTea(version, action, method string, query map[string]*string, form map[string]string) (map[string]any, error) {
	c.Helper()
	request := &openapi.OpenApiRequest{Query: query}
	if len(form) > 0 {
		request.Body = form
	}
	params := &openapi.Params{
		Action: tea.String(action), Version: tea.String(version), Protocol: tea.String("HTTP"),
		Pathname: tea.String("/"), Method: tea.String(method), AuthType: tea.String("AK"), Style: tea.String("RPC"),
		ReqBodyType: tea.String("formData"), BodyType: tea.String("json"),
	}
	answer, err := c.tea.CallApi(params, request, &dara.RuntimeOptions{})
	if err != nil {
		return nil, err
	}
	body, object := answer["body"].(map[string]any)
	if !object {
		return nil, fmt.Errorf("%s answered %T", action, answer["body"])
	}
	return body, nil
}

// ok makes a call that must succeed.
func ok[Q requests.AcsRequest, R any](c *cloud, call func(Q) (*R, error), request Q, fields set) *R {
	c.Helper()
	response, err := send(c, call, request, fields)
	if err != nil {
		c.Fatalf("%s: %v", request.GetActionName(), err)
	}
	id := reflect.ValueOf(response).Elem().FieldByName("RequestId").String()
	if len(id) != 36 || id != strings.ToUpper(id) {
		c.Errorf("%s: RequestId %q is not an upper-case UUID", request.GetActionName(), id)
	}
	return response
}

// refused makes a call that must fail with that status and code.
func refused[Q requests.AcsRequest, R any](
	c *cloud, status int, code string, call func(Q) (*R, error), request Q, fields set,
) refusal {
	c.Helper()
	_, err := send(c, call, request, fields)
	if err == nil {
		c.Fatalf("%s: succeeded, wanted %d %s", request.GetActionName(), status, code)
	}
	found := refusalOf(c.T, err)
	if found.status != status || found.code != code {
		c.Errorf("%s: refused with %d %s (%s), wanted %d %s",
			request.GetActionName(), found.status, found.code, found.message, status, code)
	}
	return found
}

func refusalOf(t *testing.T, err error) refusal {
	t.Helper()
	var classic sdkerrors.Error
	if errors.As(err, &classic) {
		return refusal{classic.HttpStatus(), classic.ErrorCode(), classic.Message(), err}
	}
	var core *tea.SDKError
	if errors.As(err, &core) {
		return refusal{tea.IntValue(core.StatusCode), tea.StringValue(core.Code), tea.StringValue(core.Message), err}
	}
	t.Fatalf("neither SDK's error: %T %v", err, err)
	return refusal{}
}

// same holds a value to what is wanted.
func same[V any](c *cloud, what string, found, wanted V) {
	c.Helper()
	if !reflect.DeepEqual(found, wanted) {
		c.Errorf("%s: found %#v, wanted %#v", what, found, wanted)
	}
}

// common makes a call for which the classic SDK has no types.
func common(c *cloud, version, action string, query, form map[string]string) map[string]any {
	c.Helper()
	if c.tea != nil {
		all := pointers(query)
		all["RegionId"] = tea.String(region)
		answer, err := c.callTea(version, action, http.MethodPost, all, form)
		if err != nil {
			c.Fatalf("%s: %v", action, err)
		}
		drove("nlb", action, "v3")
		return answer
	}
	request := requests.NewCommonRequest()
	request.Method, request.Scheme, request.Domain = http.MethodPost, "HTTP", endpoint
	request.Version, request.ApiName, request.Product = version, action, "Nlb"
	for name, value := range query {
		request.QueryParams[name] = value
	}
	for name, value := range form {
		request.FormParams[name] = value
	}
	response, err := c.nlb.ProcessCommonRequest(request)
	if err != nil {
		c.Fatalf("%s: %v", action, err)
	}
	var answer map[string]any
	if err := json.Unmarshal(response.GetHttpContentBytes(), &answer); err != nil {
		c.Fatalf("%s: %v", action, err)
	}
	drove("nlb", action, "v1")
	return answer
}
