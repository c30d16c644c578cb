//! Secrets in the shapes in which public documentation writes them, with random values, and how many of them are hidden.
//!
//! A template has the parts that nobody may see between `«` and `»` and other random parts between `‹` and `›`; see
//! [`Template`]. Nothing in this file is a real secret.

use answerback::call::{Schema, check};
use answerback::finding::secrets::{redact, redact_value};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::template::{Sample, Template};

/// How often each shape is filled with random values.
const TIMES: usize = 25;

/// Shapes that have to be hidden every time.
const REQUIRED: &[(&str, &str)] = &[
    // Pairs of a name and a value.
    ("Kubernetes environment", r#"{"name":"DB_PASSWORD","value":"«pw*12»"}"#),
    (
        "container environment",
        r#"{"containers":[{"name":"app","env":[{"name":"PORT","value":"8080"},{"name":"API_TOKEN","value":"«lo*24»"}]}]}"#,
    ),
    ("value before name", r#"{"value":"«pw*12»","name":"SMTP_PASSWORD"}"#),
    ("key and value", r#"{"key":"client_secret","value":"«pw*16»"}"#),
    ("Key and Value", r#"[{"Key":"MasterUserPassword","Value":"«pw*16»"}]"#),
    ("header pair", r#"{"headers":[["Accept","text/html"],["Authorization","«lo*24»"]]}"#),
    ("header pair with a scheme", r#"[["Authorization","Bearer «lo*24»"]]"#),
    ("header pair of an API key", r#"[["X-Api-Key","«hex*32»"]]"#),
    ("header objects", r#"{"headers":[{"name":"Authorization","value":"Token «lo*24»"}]}"#),
    ("cookie header object", r#"{"headers":[{"name":"Cookie","value":"sid=«lo*24»"}]}"#),
    ("form by selector", r##"{"selector":"#password","value":"«pw*12»"}"##),
    ("form by attribute", r#"{"selector":"input[name='password']","text":"«pw*12»"}"#),
    ("form by label", r#"{"element":"Password input field","ref":"e12","text":"«pw*12»"}"#),
    (
        "form fields",
        r#"{"fields":[{"name":"Email","ref":"e4","value":"a@b.example"},{"name":"Password","type":"textbox","ref":"e5","value":"«pw*12»"}]}"#,
    ),
    ("pair in a text", r#"deploy with {\"name\": \"DB_PASSWORD\", \"value\": \"«pw*12»\"} please"#),
    ("pair in a text, unescaped", "env: [{\"name\": \"DB_PASSWORD\", \"value\": \"«pw*12»\"}]}}"),
    (
        "pair in YAML",
        "env:\n  - name: DB_PASSWORD\n    value: «pw*12»\n  - name: PORT\n    value: \"80\"\n",
    ),
    ("header pair in a text", "headers = [(\"Authorization\", \"«lo*24»\")]"),
    // Command lines.
    ("option", "mytool login --password «pw*12» --user ada"),
    ("option with =", "mytool login --password=«pw*12» --user ada"),
    ("option with quotes", "mytool login --password '«pw*12»' --user ada"),
    ("option --token", "vault login --token «lo*24»"),
    ("curl -u", "curl -u admin:«pw*12» https://api.example.com/v1"),
    ("curl --user", "curl --user 'admin:«pw*12»' https://api.example.com/v1"),
    ("mysql -p", "mysql -h db -u root -p«pw*12» shop"),
    ("sshpass -p", "sshpass -p '«pw*12»' ssh ada@host.example"),
    ("docker login", "docker login -u ada -p «pw*12» registry.example.com"),
    ("variable before a command", "PGPASSWORD=«pw*12» psql -h db.example.com"),
    ("user of a URL", "git clone https://«lo*40»@github.com/acme/shop.git"),
    (
        "user of a URL in mixed case",
        "pip install git+https://«b62*40»@git.example.com/acme/shop.git",
    ),
    ("arguments of a process", r#"{"command":"mysql","args":["-u","root","-p«pw*12»","shop"]}"#),
    ("option and value apart", r#"{"args":["--host","db","--password","«pw*12»"]}"#),
    ("curl arguments", r#"["curl","-u","admin:«pw*12»","https://api.example.com"]"#),
    // Configuration files inside of texts.
    ("YAML", "database:\n  host: db\n  password: «pw*12»\n"),
    ("YAML, letters alone", "database:\n  host: db\n  password: «az*12»\n"),
    ("ini", "[client]\nuser = ada\npassword = «pw*12»\n"),
    ("ini, letters alone", "[client]\nuser = ada\npassword = «az*12»\n"),
    ("compose map", "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: «az*12»\n"),
    ("compose list", "services:\n  db:\n    environment:\n      - POSTGRES_PASSWORD=«az*12»\n"),
    (".netrc on one line", "machine api.github.com login ada password «az*16»"),
    (".netrc on several lines", "machine api.github.com\n  login ada\n  password «az*16»\n"),
    (".pgpass", "db.example.com:5432:shop:ada:«pw*12»"),
    (".pgpass with stars", "*:*:*:ada:«az*12»\n"),
    ("docker auth", r#"{"auths":{"ghcr.io":{"auth":"«b64*32»"}}}"#),
    (
        "docker auth in a text",
        "{\n\t\"auths\": {\n\t\t\"ghcr.io\": {\n\t\t\t\"auth\": \"«b64*32»\"\n\t\t}\n\t}\n}",
    ),
    ("SQL role", "CREATE ROLE app WITH LOGIN PASSWORD '«az*12»';"),
    ("SQL user", "CREATE USER 'app'@'%' IDENTIFIED BY '«az*12»';"),
    ("SQL user, old", "ALTER USER app IDENTIFIED WITH mysql_native_password BY '«az*12»'"),
    ("SQL update", "UPDATE users SET password = '«az*12»' WHERE id = 7"),
    ("SQL insert", "INSERT INTO users (name, password) VALUES ('ada', '«az*12»')"),
    ("SQL insert, password first", "INSERT INTO users (password, name) VALUES ('«pw*12»', 'ada')"),
    ("PHP define", "define('DB_PASSWORD', '«az*12»');"),
    ("PHP define with double quotes", "define( \"AUTH_KEY\", \"«pw*40»\" );"),
    ("PHP array", "'password' => '«az*12»',"),
    ("CSV", "name,email,password\nada,ada@example.com,«az*12»\n"),
    ("CSV with quotes", "\"user\",\"api_key\",\"role\"\n\"ada\",\"«lo*24»\",\"admin\"\n"),
    ("CSV, second row", "user;password\nada;«pw*12»\nbob;«pw*12»\n"),
    // Keys whose label stands next to them.
    ("Databricks", "dapi«hex*32»"),
    ("Databricks with a number", "export DATABRICKS_TOKEN=dapi«hex*32»-2"),
    ("Databricks by label", "databricks token «hex*32»"),
    ("Twilio token", "Twilio auth token: «hex*32»"),
    ("Twilio variable", "TWILIO_AUTH_TOKEN=«hex*32»"),
    ("Twilio key", "SK‹hex*32› is the API key SID, secret «b62*32»"),
    ("Twilio pair", "account AC‹hex*32› auth_token «hex*32»"),
    ("Mailgun", "key-«hex*32»"),
    ("Mailgun, new", "mailgun api key: «hex*32»-‹hex*8›-‹hex*8›"),
    ("Supabase", "sbp_«hex*40»"),
    ("Supabase secret", "sb_secret_«b64u*31»"),
    ("RubyGems", "rubygems_«hex*48»"),
    ("LangSmith", "lsv2_pt_«hex*32»_«hex*10»"),
    ("LangSmith service", "lsv2_sk_«hex*32»_«hex*10»"),
    ("Postman", "PMAK-«hex*24»-«hex*34»"),
    ("hmac_key", "hmac_key = «hex*64»"),
    ("hmac_key in JSON", r#"{"hmac_key":"«hex*64»"}"#),
    ("the api key is", "the api key is «hex*32»"),
    ("my API key is", "My API key is «hex*40», please use it"),
    ("the secret is", "and the client secret is \"«hex*32»\""),
    ("the password is", "The password is «pw*12»"),
    ("use the token", "Use the token «hex*40» for the request."),
    // The rest.
    ("Sentry DSN", "https://«hex*32»@o‹dig*6›.ingest.sentry.io/‹dig*7›"),
    ("Sentry DSN, old", "https://«hex*32»:«hex*32»@sentry.example.com/2"),
    ("Mailchimp", "«hex*32»-us‹dig*2›"),
    ("GitLab trigger", "glptt-«hex*40»"),
    ("encoded connection string", "postgres%3A%2F%2Fapp%3A«az*14»%40db.example.com%2Fshop"),
    (
        "encoded in a query",
        "https://x.example/connect?url=mysql%3a%2f%2froot%3a«pwu*14»%40db%3a3306%2fshop",
    ),
    ("key split by a zero-width space", "sk-proj-«b62*12»\u{200b}«b62*12»"),
    ("password split by a zero-width joiner", "password: «pw*10»\u{200d}«pw*10»"),
    ("label split by a zero-width space", "pass\u{200b}word=«az*14»"),
    ("token split often", "ghp_«b62*9»\u{2060}«b62*9»\u{feff}«b62*9»\u{ad}«b62*9»"),
];

/// Shapes written from the public documentation of each format; nearly all have to be hidden.
const DOCUMENTED: &[(&str, &str)] = &[
    ("GitHub classic", "ghp_«b62*36»"),
    ("GitHub fine-grained", "token is github_pat_«b62*22»_«b62*59»"),
    ("GitHub app", "x-access-token:ghs_«b62*36»"),
    ("GitHub refresh", r#"{"refresh":"ghr_«b62*76»"}"#),
    ("GitHub clone URL", "https://oauth2:ghp_«b62*36»@github.com/acme/shop.git"),
    ("GitHub actions env", "env:\n  GH_TOKEN: «b62*40»\n"),
    (
        "GitHub webhook secret",
        r#"{"config":{"url":"https://x.example/hook","content_type":"json","secret":"«az*16»"}}"#,
    ),
    ("GitLab personal", "PRIVATE-TOKEN: glpat-«b64u*20»"),
    ("GitLab runner", "gitlab-runner register --registration-token GR1348941«b64u*20»"),
    ("GitLab runner, new", "glrt-«b64u*20»"),
    ("GitLab deploy", "gldt-«b64u*20»"),
    ("GitLab job", "CI_JOB_TOKEN=glcbt-64_«b64u*20»"),
    ("Bitbucket app password", "ATBB«b62*32»"),
    ("Atlassian", "ATATT3xFfGF0«b64u*60»"),
    (
        "Jira basic",
        "curl --user me@example.com:«b62*24» https://acme.atlassian.net/rest/api/3/issue",
    ),
    ("Slack bot", "xoxb-‹dig*12›-‹dig*13›-«b62*24»"),
    ("Slack app", "xapp-1-A‹up*10›-‹dig*13›-«hex*64»"),
    ("Slack webhook", "https://hooks.slack.com/services/T‹up*8›/B‹up*8›/«b62*24»"),
    ("Slack signing secret", "SLACK_SIGNING_SECRET=«hex*32»"),
    ("Stripe secret", "sk_live_«b62*24»"),
    ("Stripe restricted", "rk_test_«b62*99»"),
    ("Stripe webhook", "whsec_«b62*32»"),
    ("Stripe curl", "curl https://api.stripe.com/v1/charges -u sk_test_«b62*24»:"),
    ("AWS access key", "AKIA«b32*16»"),
    ("AWS secret key", "aws_secret_access_key = «b64*40»"),
    ("AWS secret key, JSON", r#"{"SecretAccessKey":"«b64*40»"}"#),
    ("AWS session token", "AWS_SESSION_TOKEN=FwoGZXIvYXdzE«b64*200»"),
    (
        "AWS presigned URL",
        "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=«hex*64»",
    ),
    (
        "AWS credentials file",
        "[default]\naws_access_key_id = AKIA«b32*16»\naws_secret_access_key = «b64*40»\n",
    ),
    ("AWS Bedrock key", "ABSKQmVkcm9ja0FQSUtleS«b64*100»"),
    ("AWS MWS", "amzn.mws.«hex*8»-«hex*4»-«hex*4»-«hex*4»-«hex*12»"),
    ("GCP API key", "AIza«b64u*35»"),
    ("GCP OAuth token", "ya29.«b64u*68»"),
    ("GCP client secret", "GOCSPX-«b64u*28»"),
    (
        "GCP service account",
        "{\"type\":\"service_account\",\"private_key_id\":\"‹hex*40›\",\"private_key\":\"-----BEGIN PRIVATE KEY-----\\n«b64*64»\\n«b64*64»\\n-----END PRIVATE KEY-----\\n\"}",
    ),
    ("GCP refresh token", r#"{"refresh_token":"1//0«b64u*60»"}"#),
    ("GCP refresh token alone", "1//0«b64u*70»"),
    (
        "Azure storage",
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=«b64*86»==;EndpointSuffix=core.windows.net",
    ),
    ("Azure SAS", "https://a.blob.core.windows.net/c/b?sv=2022-11-02&sp=r&sig=«b64u*43»%3D"),
    (
        "Azure service bus",
        "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«b64*43»=",
    ),
    ("Azure client secret", "AZURE_CLIENT_SECRET=‹b62*3›8Q~«b64u*34»"),
    ("Azure client secret alone", "‹b62*3›8Q~«b64u*34»"),
    ("Azure DevOps", "az devops login --token «lo*52»"),
    ("Azure subscription key header", "Ocp-Apim-Subscription-Key: «hex*32»"),
    ("Azure app insights", "InstrumentationKey=‹hex*8›-0000-0000-0000-‹hex*12›;ApiKey=«lo*40»"),
    ("npm", "npm_«b62*36»"),
    (".npmrc", "//registry.npmjs.org/:_authToken=«lo*36»"),
    (".npmrc _auth", "//npm.example.com/:_auth=«b64*40»"),
    (".npmrc _password", "//npm.example.com/:_password=«b64*24»"),
    ("PyPI", "pypi-AgEIcHlwaS5vcmc«b64u*150»"),
    (".pypirc", "[pypi]\nusername = __token__\npassword = pypi-AgEIcHlwaS5vcmc«b64u*150»\n"),
    ("twine", "twine upload -u ada -p «pw*14» dist/*"),
    ("Cargo", "cargo login cio«b62*32»"),
    ("Cargo credentials", "[registry]\ntoken = \"cio«b62*32»\"\n"),
    ("NuGet", "dotnet nuget push x.nupkg --api-key oy2«lo*43»"),
    (
        "Maven settings",
        "<server><id>central</id><username>ada</username><password>«az*14»</password></server>",
    ),
    ("Gradle", "signing.password=«az*14»\nsigning.keyId=24875D73"),
    ("Databricks host", r#"{"host":"https://x.cloud.databricks.com","token":"dapi«hex*32»"}"#),
    ("Twilio key secret", r#"{"sid":"SK‹hex*32›","secret":"«b62*32»"}"#),
    ("Mailgun curl", "curl -s --user 'api:key-«hex*32»' https://api.mailgun.net/v3/x/messages"),
    ("SendGrid", "SG.«b64u*22».«b64u*43»"),
    (
        "Supabase JWT",
        "SUPABASE_SERVICE_ROLE_KEY=eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ«b62*80».«b64u*43»",
    ),
    ("RubyGems credentials", ":rubygems_api_key: rubygems_«hex*48»"),
    ("Sentry auth token", "sntrys_eyJ«b62*60»=_«b64u*43»"),
    ("Sentry user token", "sntryu_«hex*64»"),
    ("Mailchimp variable", "MAILCHIMP_API_KEY=«hex*32»-us6"),
    ("Shopify", "shpat_«hex*32»"),
    ("Shopify header", "X-Shopify-Access-Token: «hex*32»"),
    ("Shopify shared secret", "shpss_«hex*32»"),
    ("DigitalOcean", "dop_v1_«hex*64»"),
    ("DigitalOcean OAuth", "doo_v1_«hex*64»"),
    ("DigitalOcean spaces", "SPACES_SECRET_ACCESS_KEY=«b64*43»"),
    ("Heroku", "HEROKU_API_KEY=«hex*8»-«hex*4»-«hex*4»-«hex*4»-«hex*12»"),
    ("Heroku, new", "HRKU-AA«b64u*58»"),
    ("Hugging Face", "hf_«b62*34»"),
    ("OpenAI", "sk-«b62*48»"),
    ("OpenAI project", "sk-proj-«b64u*74»T3BlbkFJ«b64u*74»"),
    ("OpenAI service account", "OPENAI_API_KEY=\"sk-svcacct-«b64u*74»\""),
    ("Anthropic", "sk-ant-api03-«b64u*93»AA"),
    ("Anthropic header", "x-api-key: sk-ant-admin01-«b64u*93»AA"),
    ("Groq", "gsk_«b62*52»"),
    ("Perplexity", "pplx-«b62*48»"),
    ("xAI", "xai-«b62*80»"),
    ("Replicate", "r8_«b62*37»"),
    ("OpenRouter", "sk-or-v1-«hex*64»"),
    ("Cohere", "COHERE_API_KEY=«b62*40»"),
    ("Pinecone", "pcsk_«b62*6»_«b62*63»"),
    ("Tavily", "tvly-dev-«b62*32»"),
    ("Vault service", "hvs.«b64u*90»"),
    ("Vault, old", "VAULT_TOKEN=s.«b62*24»"),
    ("Vault header", "X-Vault-Token: hvb.«b64u*120»"),
    ("Vault unseal key", "Unseal Key 1: «b64*43»="),
    ("Vault root token", "Initial Root Token: hvs.«b62*24»"),
    ("Terraform cloud", "«b62*14».atlasv1.«b64u*67»"),
    (
        "Terraform credentials",
        "credentials \"app.terraform.io\" {\n  token = \"«b62*14».atlasv1.«b64u*67»\"\n}",
    ),
    ("Terraform variable", "variable \"db_password\" {\n  default = \"«az*14»\"\n}"),
    ("Terraform tfvars", "db_password = \"«az*14»\"\n"),
    ("Doppler", "dp.st.prd.«b62*40»"),
    ("Doppler personal", "dp.pt.«b62*43»"),
    ("Linear", "lin_api_«b62*40»"),
    ("Linear OAuth", "lin_oauth_«hex*64»"),
    ("Notion", "ntn_«b62*46»"),
    ("Notion, old", "secret_«b62*43»"),
    ("Figma", "figd_«b64u*40»"),
    ("Figma header", "X-Figma-Token: «b62*30»"),
    ("Discord bot", "M«b62*23».G«b62*5».«b64u*38»"),
    ("Discord header", "Authorization: Bot «b62*24».«b62*6».«b64u*38»"),
    ("Discord webhook", "https://discord.com/api/webhooks/‹dig*18›/«b64u*68»"),
    ("Telegram", "‹dig*10›:AA«b64u*33»"),
    ("Telegram URL", "https://api.telegram.org/bot‹dig*10›:AA«b64u*33»/sendMessage"),
    ("Datadog", "DD_API_KEY=«hex*32»"),
    ("Datadog header", "DD-APPLICATION-KEY: «hex*40»"),
    ("New Relic", "NRAK-«up*27»"),
    ("New Relic license", "NEW_RELIC_LICENSE_KEY=«hex*36»NRAL"),
    ("PagerDuty", "Authorization: Token token=«b64u*20»"),
    ("PagerDuty routing", r#"{"routing_key":"«hex*32»","event_action":"trigger"}"#),
    ("Grafana", "glsa_«b62*32»_«hex*8»"),
    ("Grafana cloud", "glc_eyJ«b62*80»"),
    ("age", "AGE-SECRET-KEY-1«up*58»"),
    (
        "PGP",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«b64*64»\n«b64*64»\n=‹b64*4›\n-----END PGP PRIVATE KEY BLOCK-----",
    ),
    (
        "SSH",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n«b64*70»\n«b64*70»\n-----END OPENSSH PRIVATE KEY-----",
    ),
    (
        "PuTTY",
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n«b64*64»\nPrivate-MAC: ‹hex*64›",
    ),
    ("WireGuard", "[Interface]\nPrivateKey = «b64*43»=\nAddress = 10.0.0.2/32"),
    ("JWK", r#"{"kty":"EC","crv":"P-256","x":"‹b64u*43›","y":"‹b64u*43›","d":"«b64u*43»"}"#),
    ("kubeconfig token", "users:\n- name: admin\n  user:\n    token: «lo*40»\n"),
    ("kubeconfig key", "users:\n- name: admin\n  user:\n    client-key-data: «b64*240»\n"),
    ("Kubernetes secret", "apiVersion: v1\nkind: Secret\ndata:\n  password: «b64*16»\n"),
    ("docker config in YAML", "auths:\n  ghcr.io:\n    auth: «b64*32»\n"),
    ("JDBC", "jdbc:mysql://db:3306/shop?user=app&password=«az*12»"),
    ("JDBC Oracle", "jdbc:oracle:thin:scott/«pw*12»@db.example.com:1521:orcl"),
    ("JDBC SQL Server", "jdbc:sqlserver://db:1433;databaseName=shop;user=sa;password=«pw*12»;"),
    (
        "ODBC",
        "Driver={ODBC Driver 18 for SQL Server};Server=tcp:db,1433;Uid=sa;Pwd={«pw*12»};Encrypt=yes;",
    ),
    ("MongoDB", "mongodb+srv://app:«az*12»@c0.ab1cd.mongodb.net/shop?retryWrites=true"),
    ("Redis", "rediss://default:«az*20»@x.upstash.io:6379"),
    ("AMQP", "amqps://app:«az*20»@rabbit.example.com/vhost"),
    ("SQLAlchemy", "create_engine(\"postgresql+psycopg2://app:«az*12»@db/shop\")"),
    ("libpq", "host=db port=5432 dbname=shop user=app password=«az*12» sslmode=require"),
    ("FTP", "ftp://ada:«az*12»@ftp.example.com/pub"),
    ("SMTP", "smtp://user%40example.com:«az*16»@smtp.example.com:587"),
    ("Basic header", "Authorization: Basic «b64*32»"),
    ("Basic header in curl", "curl -H \"Authorization: Basic «b64*32»\" https://x.example"),
    ("Bearer header in JSON", r#"{"headers":{"Authorization":"Bearer «lo*40»"}}"#),
    ("Digest header", "Authorization: Digest username=\"ada\", realm=\"x\", response=\"«hex*32»\""),
    ("Cookie header", "Cookie: sessionid=«lo*32»; csrftoken=«b62*32»"),
    ("Set-Cookie header", "Set-Cookie: sid=«lo*32»; HttpOnly; Path=/"),
    ("curl -b", "curl -b 'session=«lo*32»' https://x.example"),
    ("OAuth body", "grant_type=client_credentials&client_id=shop&client_secret=«az*24»"),
    ("OAuth answer", r#"{"access_token":"«lo*40»","token_type":"bearer","expires_in":3600}"#),
    ("OAuth code", "https://app.example/callback?code=«b64u*40»&state=‹dig*6›"),
    ("URL token", "https://x.example/download?access_token=«lo*30»"),
    ("URL key", "https://maps.example.com/api?key=«b62*32»"),
    ("JSON password", r#"{"user":"ada","password":"«az*10»"}"#),
    ("TOML", "[database]\npassword = \"«az*12»\"\n"),
    ("env file", "DB_HOST=db\nDB_PASS=«az*12»\nDEBUG=1\n"),
    ("env file with export", "export SECRET_KEY_BASE='«hex*128»'"),
    ("Django", "SECRET_KEY = 'django-insecure-«lo*50»'"),
    ("Rails master key", "RAILS_MASTER_KEY=«hex*32»"),
    ("Laravel", "APP_KEY=base64:«b64*43»="),
    ("Java properties", "spring.datasource.password=«az*12»"),
    (
        "XML attribute",
        "<add name=\"db\" connectionString=\"Data Source=db;User ID=sa;Password=«az*12»\" />",
    ),
    ("XML key and value", "<add key=\"ApiSecret\" value=\"«az*16»\" />"),
    ("plist", "<key>APIKey</key><string>«lo*32»</string>"),
    ("Python keyword", "conn = connect(host='db', user='app', password='«az*12»')"),
    ("JavaScript", "const apiKey = \"«lo*32»\";"),
    ("Go", "cfg := Config{Password: \"«az*12»\"}"),
    ("Ruby hash", ":password => \"«az*12»\","),
    ("C# string", "new NetworkCredential(\"ada\", \"«pw*14»\")"),
    ("shell heredoc", "cat > ~/.my.cnf <<EOF\n[client]\npassword=«az*12»\nEOF"),
    ("Windows", "net user ada «pw*12» /add"),
    ("PowerShell", "ConvertTo-SecureString '«pw*14»' -AsPlainText -Force"),
    ("Ansible", "ansible_ssh_pass=«az*12» ansible_user=ada"),
    ("Helm", "helm install db bitnami/postgresql --set auth.postgresPassword=«az*12»"),
    ("kubectl", "kubectl create secret generic db --from-literal=password=«az*12»"),
    ("htpasswd", "ada:$apr1$‹b62*8›$«b62*22»"),
    ("shadow", "root:$6$‹b62*12›$«b62*86»:19000:0:99999:7:::"),
    ("bcrypt", "$2b$12$«b62*53»"),
    ("LDAP", "ldapsearch -x -D cn=admin,dc=example,dc=org -w «az*12» -b dc=example"),
    ("openssl", "openssl pkcs12 -in a.p12 -passin pass:«az*12»"),
    ("zip", "unzip -P «pw*12» backup.zip"),
    ("redis-cli", "redis-cli -h cache -a «pw*16» ping"),
    ("MQTT", "mosquitto_pub -h mqtt -u ada -P «pw*12» -t x -m y"),
    ("Wi-Fi", "network={\n  ssid=\"home\"\n  psk=\"«az*12»\"\n}"),
    ("Markdown table", "| user | password |\n|---|---|\n| ada | «az*12» |\n"),
    ("prose", "Log in as ada with password «pw*12» and press enter."),
    ("card check", r#"{"number":"4242424242424242","cvv":"«dig*3»"}"#),
    ("Airtable", "pat«b62*14».«hex*64»"),
    ("Asana", "1/‹dig*16›:«hex*32»"),
    ("Algolia", "ALGOLIA_ADMIN_KEY=«hex*32»"),
    ("Cloudflare", "CLOUDFLARE_API_TOKEN=«b64u*40»"),
    ("Cloudflare origin", "v1.0-«hex*24»-«hex*146»"),
    ("Contentful", "CFPAT-«b64u*43»"),
    ("Dropbox", "sl.«b64u*140»"),
    ("Square", "EAAA«b64u*60»"),
    ("PlanetScale", "pscale_tkn_«b64u*43»"),
    ("Fly", "fo1_«b64u*43»"),
    ("Netlify", "nfp_«b62*36»"),
    ("Vercel", "VERCEL_TOKEN=«b62*24»"),
    ("Typeform", "tfp_«b64u*59»"),
    ("Buildkite", "bkua_«hex*40»"),
    ("CircleCI", "CCIPAT_«b62*22»_«hex*40»"),
    ("Snyk", "SNYK_TOKEN=«hex*8»-«hex*4»-«hex*4»-«hex*4»-«hex*12»"),
    ("SonarQube", "sqp_«hex*40»"),
    ("1Password", "ops_eyJ«b62*200»"),
    ("Docker Hub", "dckr_pat_«b64u*27»"),
    ("EasyPost", "EZAK«b62*54»"),
    ("Facebook", "EAAB«b62*120»"),
    ("Twitter bearer", "AAAAAAAAAAAAAAAAAAAAA«b62*80»"),
    ("Zoom", "ZOOM_CLIENT_SECRET=«b62*32»"),
    ("Okta", "Authorization: SSWS 00«b64u*40»"),
    ("ngrok", "ngrok config add-authtoken 2«b62*48»"),
    ("Tailscale", "tskey-auth-k‹b62*12›-«b62*32»"),
    ("Bearer in a sentence", "send the header Bearer «lo*32» with it"),
];

/// The percentage of [`DOCUMENTED`] that has to be hidden.
const LEAST: usize = 95;

#[test]
fn required_shapes_are_always_hidden() {
    let report = Report::of(REQUIRED);
    assert!(report.missed.is_empty(), "{report}");
}

#[test]
fn documented_shapes_are_hidden() {
    let report = Report::of(DOCUMENTED);
    assert!(DOCUMENTED.len() >= 150);
    assert!(report.hidden * 100 >= report.all * LEAST, "{report}");
}

/// What was hidden, and an example of each shape that was not hidden every time.
struct Report {
    all: usize,
    hidden: usize,
    missed: Vec<String>,
}

impl Report {
    fn of(shapes: &[(&str, &str)]) -> Self {
        let mut report = Self { all: 0, hidden: 0, missed: Vec::new() };
        for (number, (name, template)) in shapes.iter().enumerate() {
            let (template, mut dice) = (Template(template), Dice::new(number as u64));
            let (mut hidden, mut example) = (0, String::new());
            for _ in 0..TIMES {
                let sample = template.fill(&mut dice);
                match shown_in(&sample) {
                    None => hidden += 1,
                    Some(shown) => example = shown,
                }
            }
            report.all += TIMES;
            report.hidden += hidden;
            if hidden < TIMES {
                report.missed.push(format!("{name}: {hidden} of {TIMES}; {example}"));
            }
        }
        report
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { all, hidden, missed } = self;
        writeln!(formatter, "{hidden} of {all} hidden; not always hidden: {}", missed.len())?;
        missed.iter().try_for_each(|line| writeln!(formatter, "  {line}"))
    }
}

/// What is shown of a sample although it has a piece of a secret in it: as a text, in a document, and as the document
/// that it is.
fn shown_in(sample: &Sample) -> Option<String> {
    let text = redact(&sample.text).into_owned();
    let inside = redact_value(&json!({"content": sample.text}))["content"].to_string();
    let parsed =
        serde_json::from_str::<Value>(&sample.text).ok().filter(|value| !value.is_string());
    let document = parsed.map(|value| redact_value(&value).to_string());
    [Some(text), Some(inside), document]
        .into_iter()
        .flatten()
        .find(|shown| sample.is_seen_in(shown))
}

#[test]
fn a_finding_does_not_show_what_its_neighbors_call_secret() {
    let member =
        json!({"type": "object", "properties": {"value": {"type": "integer"}, "name": {}}});
    let schema =
        json!({"properties": {"env": {"items": member}, "args": {"items": {"type": "integer"}}}});
    let schema = Schema::compile(schema).unwrap();
    let arguments = json!({
        "env": [{"name": "DB_PASSWORD", "value": "velvet"}],
        "args": ["--password", "orchard"],
    });
    let findings = check(&schema, &arguments, ()).unwrap();
    let said = serde_json::to_string(&findings).unwrap();
    assert_eq!(findings.len(), 3, "{said}");
    assert!(!said.contains("velvet") && !said.contains("orchard"), "{said}");
}
