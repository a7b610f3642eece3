-- A database of schema 16 that version 8b50055 wrote on PostgreSQL 15, for Upgrade.test.ts.
-- The database was new.
-- 8b50055-new.json has its API keys, and the requests and answers of its stored answers. The
-- program ran with a fake of Moz. A kill -9 in mid request left the two holds.

CREATE FUNCTION keep_figures() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
          BEGIN 
    INSERT INTO observations
    VALUES (
      OLD.page, OLD.provider, COALESCE(OLD.since, OLD.fetched_at), OLD.fetched_at,
      OLD.vendor_index, OLD.domain_authority, OLD.page_authority, OLD.spam_score, 0, OLD.fetched_at
    ) ON CONFLICT DO NOTHING; RETURN NEW; END $$;

CREATE TABLE accounts (
    id text NOT NULL,
    name text NOT NULL,
    created_at bigint NOT NULL,
    suspended_at bigint
);

CREATE TABLE act_requests (
    request_key text NOT NULL,
    action text NOT NULL,
    fingerprint text NOT NULL,
    row_id text
);

CREATE TABLE api_keys (
    id text NOT NULL,
    account_id text NOT NULL,
    label text,
    hash text NOT NULL,
    start text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    lifetime_ms bigint,
    revoked_at bigint,
    last_used_at bigint,
    budget_id text,
    scopes text DEFAULT 'check,read'::text NOT NULL
);

CREATE TABLE audit_head (
    id bigint NOT NULL,
    entries bigint NOT NULL,
    head text NOT NULL,
    CONSTRAINT audit_head_id_check CHECK ((id = 1))
);

CREATE TABLE audit_log (
    sequence bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail text NOT NULL,
    row_table text,
    row_id text,
    state text,
    granted bigint,
    hash text NOT NULL
);

CREATE TABLE balances (
    account_id text NOT NULL,
    granted bigint NOT NULL,
    charged bigint NOT NULL,
    held bigint NOT NULL,
    entries bigint NOT NULL,
    head text NOT NULL,
    budgets bigint DEFAULT 0 NOT NULL,
    CONSTRAINT balances_check CHECK (((charged >= 0) AND (held >= 0) AND ((charged + held) <= granted)))
);

CREATE TABLE budget_uses (
    budget_id text NOT NULL,
    start bigint NOT NULL,
    charged bigint NOT NULL,
    held bigint NOT NULL,
    holds bigint NOT NULL,
    CONSTRAINT budget_uses_charged_check CHECK ((charged >= 0)),
    CONSTRAINT budget_uses_held_check CHECK ((held >= 0)),
    CONSTRAINT budget_uses_holds_check CHECK ((holds >= 0))
);

CREATE TABLE budgets (
    id text NOT NULL,
    account_id text NOT NULL,
    credits bigint NOT NULL,
    period text NOT NULL,
    since bigint NOT NULL,
    CONSTRAINT budgets_credits_check CHECK ((credits > 0)),
    CONSTRAINT budgets_period_check CHECK ((period = ANY (ARRAY['day'::text, 'month'::text, 'total'::text])))
);

CREATE TABLE claims (
    provider text NOT NULL,
    page text NOT NULL,
    owner text NOT NULL,
    expires_at bigint NOT NULL
);

CREATE TABLE effect_sql_migrations (
    migration_id integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    name text NOT NULL
);

CREATE TABLE entries (
    account_id text NOT NULL,
    sequence bigint NOT NULL,
    kind text NOT NULL,
    amount bigint NOT NULL,
    balance_after bigint NOT NULL,
    request_id text,
    urls bigint,
    note text,
    at bigint NOT NULL,
    hash text NOT NULL,
    api_key_id text,
    held_at bigint,
    CONSTRAINT entries_amount_check CHECK ((amount > 0)),
    CONSTRAINT entries_balance_after_check CHECK ((balance_after >= 0)),
    CONSTRAINT entries_kind_check CHECK ((kind = ANY (ARRAY['grant'::text, 'charge'::text, 'correction'::text])))
);

CREATE TABLE figures (
    provider text NOT NULL,
    page text NOT NULL,
    domain_authority double precision NOT NULL,
    page_authority double precision NOT NULL,
    spam_score double precision,
    fetched_at bigint NOT NULL,
    vendor_index text,
    of_domain text,
    since bigint
);

CREATE TABLE holds (
    request_id text NOT NULL,
    account_id text NOT NULL,
    amount bigint NOT NULL,
    expires_at bigint NOT NULL,
    owner text,
    api_key_id text,
    held_at bigint,
    CONSTRAINT holds_amount_check CHECK ((amount > 0))
);

CREATE TABLE migration_lock (
    id bigint NOT NULL,
    owner text NOT NULL,
    expires_at bigint NOT NULL,
    CONSTRAINT migration_lock_id_check CHECK ((id = 1))
);

CREATE TABLE observations (
    page text NOT NULL,
    provider text NOT NULL,
    fetched_at bigint NOT NULL,
    last_fetched_at bigint NOT NULL,
    vendor_index text,
    domain_authority double precision NOT NULL,
    page_authority double precision NOT NULL,
    spam_score double precision,
    of_vendor bigint NOT NULL,
    stored_at bigint NOT NULL
);

CREATE TABLE processes (
    id text NOT NULL,
    beats bigint NOT NULL
);

CREATE TABLE purchase_days (
    provider text NOT NULL,
    day bigint NOT NULL,
    calls bigint NOT NULL,
    targets bigint NOT NULL,
    rows_bought bigint NOT NULL,
    cost bigint,
    unknown_calls bigint NOT NULL,
    unknown_targets bigint NOT NULL
);

CREATE TABLE purchases (
    id text NOT NULL,
    provider text NOT NULL,
    at bigint NOT NULL,
    targets bigint NOT NULL,
    state text NOT NULL,
    rows_bought bigint,
    cost bigint,
    is_reported bigint,
    CONSTRAINT purchases_state_check CHECK ((state = ANY (ARRAY['unknown'::text, 'answered'::text, 'failed'::text])))
);

CREATE TABLE ranking (
    id bigint NOT NULL,
    list bigint,
    importing bigint,
    name text,
    imported_at bigint,
    CONSTRAINT ranking_id_check CHECK ((id = 1)),
    CONSTRAINT ranking_list_check CHECK ((list = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);

CREATE TABLE ranks_0 (
    name text NOT NULL,
    rank bigint NOT NULL
);

CREATE TABLE ranks_1 (
    name text NOT NULL,
    rank bigint NOT NULL
);

CREATE TABLE receipts (
    account_id text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    request_id text NOT NULL,
    body text,
    expires_at bigint NOT NULL
);

CREATE TABLE usage (
    account_id text NOT NULL,
    day bigint NOT NULL,
    api_key_id text NOT NULL,
    checks bigint NOT NULL,
    credits bigint NOT NULL,
    known bigint NOT NULL,
    invalid_url bigint NOT NULL,
    provider_error bigint NOT NULL,
    server_error bigint NOT NULL
);

CREATE TABLE vendor_readings (
    provider text NOT NULL,
    at bigint NOT NULL,
    day bigint,
    unit text NOT NULL,
    used bigint NOT NULL,
    resets_at bigint,
    calls bigint NOT NULL,
    rows_bought bigint NOT NULL,
    cost bigint NOT NULL,
    unknown_calls bigint NOT NULL,
    unknown_targets bigint NOT NULL,
    in_flight_calls bigint NOT NULL,
    in_flight_targets bigint NOT NULL
);

CREATE TABLE vendors (
    name text NOT NULL,
    paused_until bigint NOT NULL
);

INSERT INTO accounts VALUES
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 'acme', 1795813671095, NULL),
	('01a21ed6-028a-763c-bfa9-e00308eacf9d', 'globex', 1795813671563, NULL),
	('01a21ed6-0490-7304-8090-7301f549656e', 'initech', 1795813672081, NULL),
	('01a21ed6-09c1-7691-ab6b-89a45a13ec2c', 'hooli', 1795813673410, 1795813696816);

INSERT INTO act_requests VALUES
	('grant-1', 'credits.grant', '1e31be682eda037ce8d181f32efa81fef2829d6282cef8a1a59eab95252f2233', '01a21ed6-028a-763c-bfa9-e00308eacf9d'),
	('grant-2', 'credits.correct', '76e84bd072a9b9eae211dd20ed7e567188d0f9edf25180c23cb277556a5a6d26', '01a21ed6-09c1-7691-ab6b-89a45a13ec2c');

INSERT INTO api_keys VALUES
	('01a21ed6-1b2d-76e1-845a-ea77823ca461', '01a21ed6-00b7-71d2-963e-db62f5f07d96', NULL, 'db3b9073d7f5d1ae39b84b81a08d2218c6a68b9ebea7eb2446bfecb29ab94ab5', 'am_HBGDIu', 1795813677867, 1795813678867, 1000, NULL, NULL, NULL, 'check,read'),
	('01a21ed6-10a4-7596-a05a-e2e27fdec97a', '01a21ed6-00b7-71d2-963e-db62f5f07d96', 'shop', '18b8bf9ea65b72c8de3d560c5ebe98056a0908789b21876af48a20fca5fa2594', 'am_rxI3Ip', 1795813675171, NULL, NULL, NULL, 1795813689120, NULL, 'check,read'),
	('01a21ed6-15ff-7575-b0fc-9c331b923011', '01a21ed6-00b7-71d2-963e-db62f5f07d96', 'búsqueda', '23d695fc3752052f42c677e6b935ebe64073a146cfabe70725f6bafe8da145fd', 'am_2HUBmm', 1795813676542, 2111173676542, 315360000000, NULL, 1795813689849, NULL, 'check,read'),
	('01a21ed6-2337-75ea-9528-eedc1944ab9d', '01a21ed6-00b7-71d2-963e-db62f5f07d96', 'interns', '14002d1e38aa6920a56ef6909d8282b02b4442ee44454ad21ff6e3362a122728', 'am_nZq6BB', 1795813679926, NULL, NULL, NULL, 1795813690326, '01a21ed6-2343-7393-93cd-512cd45f29eb', 'check,read'),
	('01a21ed6-24ca-73e0-9fe9-ca49a5ef1b9b', '01a21ed6-00b7-71d2-963e-db62f5f07d96', NULL, 'cff865507ee8198a25f99f4a201b0e5e4da991d29227f3e2b943ae48d641f41e', 'am_5bQ2bs', 1795813680329, NULL, NULL, NULL, 1795813690225, '01a21ed6-24cf-7116-9e64-044395bf19ad', 'check,read'),
	('01a21ed6-270c-76cc-ad00-b8b3e079d09f', '01a21ed6-00b7-71d2-963e-db62f5f07d96', NULL, '649f1530220a4b07392606ffa0ef9362b7ee3539762328bfbe67304d835266e2', 'am_6cXp9N', 1795813680907, NULL, NULL, NULL, 1795813690433, '01a21ed6-2713-7060-9061-7c6190d3ee50', 'check'),
	('01a21ed6-29e0-776f-a076-0c67b1fd81ce', '01a21ed6-00b7-71d2-963e-db62f5f07d96', 'dashboard', 'be68933bc7361993df81ffea5027bf8a2af209c06f59277cb05439fe0e7756b3', 'am_EQkrHZ', 1795813681631, NULL, NULL, NULL, 1795813690723, NULL, 'read'),
	('01a21ed6-2fcb-7595-b97d-76c3b094ba6f', '01a21ed6-09c1-7691-ab6b-89a45a13ec2c', NULL, '86d4cde0acbb7df8a7e23ce725e1810dae30d7e9b71218bf7f9ff23058cfcbd9', 'am_2eWaMd', 1795813683145, NULL, NULL, NULL, 1795813690680, NULL, 'check,read'),
	('01a21ed6-2cc9-7496-ab85-90d7fa06faea', '01a21ed6-028a-763c-bfa9-e00308eacf9d', 'crawler', '637aef7217b513e978ada96838744134252a92b77c7e5a8e7c2ab23fda9b5896', 'am_3v5Uy3', 1795813682376, 1795813694251, NULL, NULL, 1795813690567, '01a21ed6-2ccf-76b4-9ac6-7907cbd04633', 'check,read'),
	('01a21ed6-5b33-71a9-9510-bd8172b843eb', '01a21ed6-028a-763c-bfa9-e00308eacf9d', 'crawler', '76297348cee57f7931f173d1d1aa0e579e07e9bd51180e116ffd7294fe3a7310', 'am_bPZZyt', 1795813694251, NULL, NULL, NULL, NULL, '01a21ed6-2ccf-76b4-9ac6-7907cbd04633', 'check,read'),
	('01a21ed6-20d6-7420-8da1-59493f723a5c', '01a21ed6-00b7-71d2-963e-db62f5f07d96', NULL, 'c1ca696bae0a2b0b729af0a8be5a53635e3aea99388125119da9870f23b3dffc', 'am_PvG60h', 1795813679317, NULL, NULL, 1795813695346, NULL, NULL, 'check');

INSERT INTO audit_head VALUES
	(1, 29, '7ae1b8d6fe253ee346d6728693d736fc1245e3fbaa97e3709ccc971d436cb1be');

INSERT INTO audit_log VALUES
	(1, 1795813670989, 'cli:root', 'log.begin', 'the audit log', '{"accounts":0,"keys":0,"granted":"0"}', NULL, NULL, NULL, NULL, '1f0a147794f34d0f84a6325c1139b27e1c1de4e7d277fc76bb42fcae78aecc9b'),
	(2, 1795813671112, 'cli:root', 'account.create', 'acme', '{}', 'accounts', '01a21ed6-00b7-71d2-963e-db62f5f07d96', '{"changed":null,"row":{"id":"01a21ed6-00b7-71d2-963e-db62f5f07d96","name":"acme","createdAt":"1795813671095"}}', NULL, '876a4570b83b9a7c236eeaf0f9f3aa9041f5848bd29645413400eca5626e3139'),
	(3, 1795813671126, 'cli:root', 'credits.grant', 'acme', '{"amount":1000,"note":"opening grant","entry":1}', 'accounts', '01a21ed6-00b7-71d2-963e-db62f5f07d96', NULL, 1000, '9ba9a536dc9e2916d151813191b94392e5d7d6ee1197dd1d4a93340378e95ff2'),
	(4, 1795813671577, 'cli:root', 'account.create', 'globex', '{}', 'accounts', '01a21ed6-028a-763c-bfa9-e00308eacf9d', '{"changed":null,"row":{"id":"01a21ed6-028a-763c-bfa9-e00308eacf9d","name":"globex","createdAt":"1795813671563"}}', NULL, '25368af756b6bb2fe70d53a739fe2a915e76293a3cf4a380336715e91db79f4e'),
	(5, 1795813671593, 'cli:root', 'credits.grant', 'globex', '{"amount":25,"note":"opening grant","entry":1}', 'accounts', '01a21ed6-028a-763c-bfa9-e00308eacf9d', NULL, 25, '89c56a8df00a376a0ff4bfdb85262250fdafcd35fe6200857da3399a6feb39c0'),
	(6, 1795813672109, 'cli:root', 'account.create', 'initech', '{}', 'accounts', '01a21ed6-0490-7304-8090-7301f549656e', '{"changed":null,"row":{"id":"01a21ed6-0490-7304-8090-7301f549656e","name":"initech","createdAt":"1795813672081"}}', NULL, 'd1a3d84fe346adf7d802d70f6b6139fb24a55fd2e6be7d4e8549863b10eb2b52'),
	(7, 1795813673639, 'cli:root', 'account.create', 'hooli', '{}', 'accounts', '01a21ed6-09c1-7691-ab6b-89a45a13ec2c', '{"changed":null,"row":{"id":"01a21ed6-09c1-7691-ab6b-89a45a13ec2c","name":"hooli","createdAt":"1795813673410"}}', NULL, '63c6975852d0cfc09604dce4efaaf17b3276628a9d06e7343ee0ab4857bcc90f'),
	(8, 1795813673708, 'cli:root', 'credits.grant', 'hooli', '{"amount":40,"note":"opening grant","entry":1}', 'accounts', '01a21ed6-09c1-7691-ab6b-89a45a13ec2c', NULL, 40, 'df337cf4fe2190349ccbf254363f74c6657265ed072e19dd8d0bba14bbdf9eee'),
	(9, 1795813675184, 'cli:root', 'key.create', '01a21ed6-10a4-7596-a05a-e2e27fdec97a', '{"account":"acme","label":"shop","start":"am_rxI3Ip","expiresAt":null,"scopes":"check,read"}', 'api_keys', '01a21ed6-10a4-7596-a05a-e2e27fdec97a', '{"changed":null,"row":{"id":"01a21ed6-10a4-7596-a05a-e2e27fdec97a","accountId":"01a21ed6-00b7-71d2-963e-db62f5f07d96","label":"shop","hash":"18b8bf9ea65b72c8de3d560c5ebe98056a0908789b21876af48a20fca5fa2594","start":"am_rxI3Ip","createdAt":"1795813675171","scopes":"check,read"}}', NULL, '80f1e033a4df822ece5d391d5ccbfc398a875101e3a603964e943197d364b148'),
	(10, 1795813676551, 'cli:root', 'key.create', '01a21ed6-15ff-7575-b0fc-9c331b923011', '{"account":"acme","label":"búsqueda","start":"am_2HUBmm","expiresAt":"2036-11-24T21:07:56.542Z","scopes":"check,read"}', 'api_keys', '01a21ed6-15ff-7575-b0fc-9c331b923011', '{"changed":null,"row":{"id":"01a21ed6-15ff-7575-b0fc-9c331b923011","accountId":"01a21ed6-00b7-71d2-963e-db62f5f07d96","label":"búsqueda","hash":"23d695fc3752052f42c677e6b935ebe64073a146cfabe70725f6bafe8da145fd","start":"am_2HUBmm","createdAt":"1795813676542","expiresAt":"2111173676542","lifetimeMs":"315360000000","scopes":"check,read"}}', NULL, '8ddbe8fe9734b151f395c9db1727dfe2fbfaddb54ad54b5e5d284ce6a44dded5'),
	(11, 1795813677905, 'cli:root', 'key.create', '01a21ed6-1b2d-76e1-845a-ea77823ca461', '{"account":"acme","label":null,"start":"am_HBGDIu","expiresAt":"2026-11-27T21:07:58.867Z","scopes":"check,read"}', 'api_keys', '01a21ed6-1b2d-76e1-845a-ea77823ca461', '{"changed":null,"row":{"id":"01a21ed6-1b2d-76e1-845a-ea77823ca461","accountId":"01a21ed6-00b7-71d2-963e-db62f5f07d96","hash":"db3b9073d7f5d1ae39b84b81a08d2218c6a68b9ebea7eb2446bfecb29ab94ab5","start":"am_HBGDIu","createdAt":"1795813677867","expiresAt":"1795813678867","lifetimeMs":"1000","scopes":"check,read"}}', NULL, '7f6969e82e46e043821fcfdc198347ae640b0ea75dbb5920a9b83d9856f526f6'),
	(12, 1795813679329, 'cli:root', 'key.create', '01a21ed6-20d6-7420-8da1-59493f723a5c', '{"account":"acme","label":null,"start":"am_PvG60h","expiresAt":null,"scopes":"check"}', 'api_keys', '01a21ed6-20d6-7420-8da1-59493f723a5c', '{"changed":null,"row":{"id":"01a21ed6-20d6-7420-8da1-59493f723a5c","accountId":"01a21ed6-00b7-71d2-963e-db62f5f07d96","hash":"c1ca696bae0a2b0b729af0a8be5a53635e3aea99388125119da9870f23b3dffc","start":"am_PvG60h","createdAt":"1795813679317","scopes":"check"}}', NULL, 'a1c015d9aefd611fff096a78e0472a4682e1eee0bef6221aae80ab2f445f71ab'),
	(13, 1795813679979, 'cli:root', 'key.create', '01a21ed6-2337-75ea-9528-eedc1944ab9d', '{"account":"acme","label":"interns","start":"am_nZq6BB","expiresAt":null,"scopes":"check,read","budget":"20/total"}', 'api_keys', '01a21ed6-2337-75ea-9528-eedc1944ab9d', '{"changed":null,"row":{"id":"01a21ed6-2337-75ea-9528-eedc1944ab9d","accountId":"01a21ed6-00b7-71d2-963e-db62f5f07d96","label":"interns","hash":"14002d1e38aa6920a56ef6909d8282b02b4442ee44454ad21ff6e3362a122728","start":"am_nZq6BB","createdAt":"1795813679926","budgetId":"01a21ed6-2343-7393-93cd-512cd45f29eb","scopes":"check,read","budget":"20/total"}}', NULL, '3eaebda99cee7d4e91f4376f4e0ca50ede7eae34a7001dde0ee0978c1613041f'),
	(14, 1795813680360, 'cli:root', 'key.create', '01a21ed6-24ca-73e0-9fe9-ca49a5ef1b9b', '{"account":"acme","label":null,"start":"am_5bQ2bs","expiresAt":null,"scopes":"check,read","budget":"500/day"}', 'api_keys', '01a21ed6-24ca-73e0-9fe9-ca49a5ef1b9b', '{"changed":null,"row":{"id":"01a21ed6-24ca-73e0-9fe9-ca49a5ef1b9b","accountId":"01a21ed6-00b7-71d2-963e-db62f5f07d96","hash":"cff865507ee8198a25f99f4a201b0e5e4da991d29227f3e2b943ae48d641f41e","start":"am_5bQ2bs","createdAt":"1795813680329","budgetId":"01a21ed6-24cf-7116-9e64-044395bf19ad","scopes":"check,read","budget":"500/day"}}', NULL, '2e9566df4574a0cbe177bb74148745f44547476bf31ea00900ff9561c34383f2'),
	(15, 1795813680932, 'cli:root', 'key.create', '01a21ed6-270c-76cc-ad00-b8b3e079d09f', '{"account":"acme","label":null,"start":"am_6cXp9N","expiresAt":null,"scopes":"check","budget":"2000/month"}', 'api_keys', '01a21ed6-270c-76cc-ad00-b8b3e079d09f', '{"changed":null,"row":{"id":"01a21ed6-270c-76cc-ad00-b8b3e079d09f","accountId":"01a21ed6-00b7-71d2-963e-db62f5f07d96","hash":"649f1530220a4b07392606ffa0ef9362b7ee3539762328bfbe67304d835266e2","start":"am_6cXp9N","createdAt":"1795813680907","budgetId":"01a21ed6-2713-7060-9061-7c6190d3ee50","scopes":"check","budget":"2000/month"}}', NULL, '3a1451b01382580199e3620aa13a436b095d6ec0534593add789a8633e58fc8a'),
	(16, 1795813681651, 'cli:root', 'key.create', '01a21ed6-29e0-776f-a076-0c67b1fd81ce', '{"account":"acme","label":null,"start":"am_EQkrHZ","expiresAt":null,"scopes":"read"}', 'api_keys', '01a21ed6-29e0-776f-a076-0c67b1fd81ce', '{"changed":null,"row":{"id":"01a21ed6-29e0-776f-a076-0c67b1fd81ce","accountId":"01a21ed6-00b7-71d2-963e-db62f5f07d96","hash":"be68933bc7361993df81ffea5027bf8a2af209c06f59277cb05439fe0e7756b3","start":"am_EQkrHZ","createdAt":"1795813681631","scopes":"read"}}', NULL, '2b3c11c7dc96fd206c558cf01bd1ad87479838bbcdcfdad727f5f1167a137690'),
	(17, 1795813682405, 'cli:root', 'key.create', '01a21ed6-2cc9-7496-ab85-90d7fa06faea', '{"account":"globex","label":"crawler","start":"am_3v5Uy3","expiresAt":null,"scopes":"check,read","budget":"10/total"}', 'api_keys', '01a21ed6-2cc9-7496-ab85-90d7fa06faea', '{"changed":null,"row":{"id":"01a21ed6-2cc9-7496-ab85-90d7fa06faea","accountId":"01a21ed6-028a-763c-bfa9-e00308eacf9d","label":"crawler","hash":"637aef7217b513e978ada96838744134252a92b77c7e5a8e7c2ab23fda9b5896","start":"am_3v5Uy3","createdAt":"1795813682376","budgetId":"01a21ed6-2ccf-76b4-9ac6-7907cbd04633","scopes":"check,read","budget":"10/total"}}', NULL, 'cc3b9f2f6a39f83fb8cb9ad191a55e67418f6b9b82e1c794164d96a82e0d5951'),
	(18, 1795813683170, 'cli:root', 'key.create', '01a21ed6-2fcb-7595-b97d-76c3b094ba6f', '{"account":"hooli","label":null,"start":"am_2eWaMd","expiresAt":null,"scopes":"check,read"}', 'api_keys', '01a21ed6-2fcb-7595-b97d-76c3b094ba6f', '{"changed":null,"row":{"id":"01a21ed6-2fcb-7595-b97d-76c3b094ba6f","accountId":"01a21ed6-09c1-7691-ab6b-89a45a13ec2c","hash":"86d4cde0acbb7df8a7e23ce725e1810dae30d7e9b71218bf7f9ff23058cfcbd9","start":"am_2eWaMd","createdAt":"1795813683145","scopes":"check,read"}}', NULL, 'bbe08841a6dc151daf2aa32170ee02234ea1b55bd3fa02067ce96e0672ffa0a2'),
	(19, 1795813683910, 'cli:root', 'key.update', '01a21ed6-29e0-776f-a076-0c67b1fd81ce', '{"account":"acme","label":"dashboard"}', 'api_keys', '01a21ed6-29e0-776f-a076-0c67b1fd81ce', '{"changed":["label"],"row":{"id":"01a21ed6-29e0-776f-a076-0c67b1fd81ce","accountId":"01a21ed6-00b7-71d2-963e-db62f5f07d96","label":"dashboard","hash":"be68933bc7361993df81ffea5027bf8a2af209c06f59277cb05439fe0e7756b3","start":"am_EQkrHZ","createdAt":"1795813681631","scopes":"read"}}', NULL, 'a290afbf0d4719c6b82076a1ef18b70d228383d0a0f211fe0f6853f4bbb446cc'),
	(20, 1795813684926, 'cli:root', 'credits.grant', 'acme', '{"amount":500,"note":"invoice 2, März “gross”","entry":2}', 'accounts', '01a21ed6-00b7-71d2-963e-db62f5f07d96', NULL, 500, '4d5dd3cc01f7c24594e7dd4f608baffe1683fdccf4edbf79609c9acba26d67bd'),
	(21, 1795813685893, 'cli:root', 'credits.correct', 'acme', '{"amount":40,"note":"granted twice","entry":3}', 'accounts', '01a21ed6-00b7-71d2-963e-db62f5f07d96', NULL, -40, '4c9e4ae3036980e9b4fc94d1adc119d62d290716f5160773fe50c294d1a78eab'),
	(22, 1795813686676, 'cli:root', 'credits.correct', 'globex', '{"refused":"only 25 credits can be taken away, because what is charged or held stays; correct at most that, or suspend the account"}', NULL, NULL, NULL, NULL, '712d3833688a30d275470e473a5bea6f41e6653868c9dac060874f4fff947af8'),
	(23, 1795813688707, 'admin@127.0.0.1', 'credits.grant', 'globex', '{"amount":10,"note":"a gift","entry":2}', 'accounts', '01a21ed6-028a-763c-bfa9-e00308eacf9d', NULL, 10, '9f86a128cbb2b354219dae882eb25016f71dd3162b38843c27e27d8ca322141c'),
	(24, 1795813689025, 'admin@127.0.0.1', 'credits.correct', 'hooli', '{"amount":5,"note":"a mistake","entry":2}', 'accounts', '01a21ed6-09c1-7691-ab6b-89a45a13ec2c', NULL, -5, '75b7b1e86a21c2d91435b9967c985aad49cf849877a917a8eede21704881b4a3'),
	(25, 1795813689103, 'admin@127.0.0.1', 'credits.grant', 'nobody', '{"refused":"no account has the name or id \"nobody\"; see ''authority account list''"}', NULL, NULL, NULL, NULL, '6edb0847989f65b9630e1d93b24cd474848e0685dcadb5805cb02ad8e58e7abf'),
	(26, 1795813694294, 'cli:root', 'key.rotate', '01a21ed6-2cc9-7496-ab85-90d7fa06faea', '{"account":"globex","successor":"01a21ed6-5b33-71a9-9510-bd8172b843eb","expiresAt":"2026-11-27T21:08:14.251Z"}', 'api_keys', '01a21ed6-2cc9-7496-ab85-90d7fa06faea', '{"changed":["expiresAt"],"row":{"id":"01a21ed6-2cc9-7496-ab85-90d7fa06faea","accountId":"01a21ed6-028a-763c-bfa9-e00308eacf9d","label":"crawler","hash":"637aef7217b513e978ada96838744134252a92b77c7e5a8e7c2ab23fda9b5896","start":"am_3v5Uy3","createdAt":"1795813682376","expiresAt":"1795813694251","budgetId":"01a21ed6-2ccf-76b4-9ac6-7907cbd04633","scopes":"check,read","budget":"10/total"}}', NULL, '4e4936b331972f8ce2d4c5fb0a908d3914ae9ce4bf3bfda3966639cb4b527388'),
	(27, 1795813694303, 'cli:root', 'key.create', '01a21ed6-5b33-71a9-9510-bd8172b843eb', '{"account":"globex","label":"crawler","start":"am_bPZZyt","expiresAt":null,"scopes":"check,read","budget":"10/total","replaces":"01a21ed6-2cc9-7496-ab85-90d7fa06faea"}', 'api_keys', '01a21ed6-5b33-71a9-9510-bd8172b843eb', '{"changed":null,"row":{"id":"01a21ed6-5b33-71a9-9510-bd8172b843eb","accountId":"01a21ed6-028a-763c-bfa9-e00308eacf9d","label":"crawler","hash":"76297348cee57f7931f173d1d1aa0e579e07e9bd51180e116ffd7294fe3a7310","start":"am_bPZZyt","createdAt":"1795813694251","budgetId":"01a21ed6-2ccf-76b4-9ac6-7907cbd04633","scopes":"check,read","budget":"10/total"}}', NULL, '1d7f20e3983a68ee10c5b89cef279c126fcd0450255cda86e5c07581b0fa7aad'),
	(28, 1795813695353, 'cli:root', 'key.revoke', '01a21ed6-20d6-7420-8da1-59493f723a5c', '{"account":"acme","revokedAt":"2026-11-27T21:08:15.346Z"}', 'api_keys', '01a21ed6-20d6-7420-8da1-59493f723a5c', '{"changed":["revokedAt"],"row":{"id":"01a21ed6-20d6-7420-8da1-59493f723a5c","accountId":"01a21ed6-00b7-71d2-963e-db62f5f07d96","hash":"c1ca696bae0a2b0b729af0a8be5a53635e3aea99388125119da9870f23b3dffc","start":"am_PvG60h","createdAt":"1795813679317","revokedAt":"1795813695346","scopes":"check"}}', NULL, '23eda0127fd4ab36c9501f47a5ed16dedb53aa3811f329fac32f86280d0cd306'),
	(29, 1795813696906, 'cli:root', 'account.suspend', 'hooli', '{}', 'accounts', '01a21ed6-09c1-7691-ab6b-89a45a13ec2c', '{"changed":["suspendedAt"],"row":{"id":"01a21ed6-09c1-7691-ab6b-89a45a13ec2c","name":"hooli","createdAt":"1795813673410","suspendedAt":"1795813696816"}}', NULL, '7ae1b8d6fe253ee346d6728693d736fc1245e3fbaa97e3709ccc971d436cb1be');

INSERT INTO balances VALUES
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 1460, 19, 2, 13, 'e8c8214d333012e0b5a4356f6d46e312075fd0b16fea7ba08dc4dc52cdaa0877', 3),
	('01a21ed6-028a-763c-bfa9-e00308eacf9d', 35, 2, 1, 3, '1e7679b806688c8c47231b8266da89aefa20f8f6aee5e002451bd953ddd89e3c', 1),
	('01a21ed6-0490-7304-8090-7301f549656e', 0, 0, 0, 0, '', 0),
	('01a21ed6-09c1-7691-ab6b-89a45a13ec2c', 35, 1, 0, 3, '05577b479c2aa434dbdb1fbadc68e934ef3a327c93a57d2c18ecb370add197d8', 0);

INSERT INTO budget_uses VALUES
	('01a21ed6-24cf-7116-9e64-044395bf19ad', 1795737600000, 2, 0, 0),
	('01a21ed6-2713-7060-9061-7c6190d3ee50', 1793491200000, 1, 0, 0),
	('01a21ed6-2343-7393-93cd-512cd45f29eb', 0, 2, 2, 1),
	('01a21ed6-2ccf-76b4-9ac6-7907cbd04633', 0, 2, 1, 1);

INSERT INTO budgets VALUES
	('01a21ed6-2343-7393-93cd-512cd45f29eb', '01a21ed6-00b7-71d2-963e-db62f5f07d96', 20, 'total', 0),
	('01a21ed6-24cf-7116-9e64-044395bf19ad', '01a21ed6-00b7-71d2-963e-db62f5f07d96', 500, 'day', 1795737600000),
	('01a21ed6-2713-7060-9061-7c6190d3ee50', '01a21ed6-00b7-71d2-963e-db62f5f07d96', 2000, 'month', 1793491200000),
	('01a21ed6-2ccf-76b4-9ac6-7907cbd04633', '01a21ed6-028a-763c-bfa9-e00308eacf9d', 10, 'total', 0);

INSERT INTO claims VALUES
	('moz', 'left-open.example.com/', '718ed626-b7fa-46b5-a635-75562a9b431b', 1795813711842),
	('moz', 'www.unicode.org/', '718ed626-b7fa-46b5-a635-75562a9b431b', 1795813711842),
	('moz', 'left-open.example.net/', '718ed626-b7fa-46b5-a635-75562a9b431b', 1795813711852);

INSERT INTO effect_sql_migrations VALUES
	(1, '2026-11-27 21:07:50.739873+00', 'accounts_keys_ledger'),
	(2, '2026-11-27 21:07:50.789073+00', 'receipts'),
	(3, '2026-11-27 21:07:50.809018+00', 'figures'),
	(4, '2026-11-27 21:07:50.824519+00', 'rankings'),
	(5, '2026-11-27 21:07:50.87478+00', 'processes'),
	(6, '2026-11-27 21:07:50.888343+00', 'origins'),
	(7, '2026-11-27 21:07:50.891943+00', 'imports'),
	(8, '2026-11-27 21:07:50.898824+00', 'observations'),
	(9, '2026-11-27 21:07:50.923107+00', 'budgets'),
	(10, '2026-11-27 21:07:50.948402+00', 'scopes'),
	(11, '2026-11-27 21:07:50.960692+00', 'audit_log'),
	(12, '2026-11-27 21:07:50.993076+00', 'usage'),
	(13, '2026-11-27 21:07:51.000369+00', 'purchases'),
	(15, '2026-11-27 21:07:51.015798+00', 'vendor_readings'),
	(16, '2026-11-27 21:07:51.023689+00', 'claims');

INSERT INTO entries VALUES
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 1, 'grant', 1000, 1000, NULL, NULL, 'opening grant', 1795813671126, 'dc871c0d15476d37af03dce9c5625c71af9e6ba2f25ee3b9c8bb4ffcbb60498b', NULL, NULL),
	('01a21ed6-028a-763c-bfa9-e00308eacf9d', 1, 'grant', 25, 25, NULL, NULL, 'opening grant', 1795813671593, '6179a8a94752033722946947d7986fdd28762bc51af6c6bc4e1676274f2cf5f6', NULL, NULL),
	('01a21ed6-09c1-7691-ab6b-89a45a13ec2c', 1, 'grant', 40, 40, NULL, NULL, 'opening grant', 1795813673708, '9fd876cd51b82c5662d576b358aa34e61ca4effba4deafc715d8fc66f1839df1', NULL, NULL),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 2, 'grant', 500, 1500, NULL, NULL, 'invoice 2, März “gross”', 1795813684926, 'bfff4457c5ea6932335cddb3f042501ebf55a9846d835451038f5d7a1549008f', NULL, NULL),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 3, 'correction', 40, 1460, NULL, NULL, 'granted twice', 1795813685893, 'cd91aa109af1fe0a9650d5f4d4bc3e964ca03ffffb404270f54764a67cde4be1', NULL, NULL),
	('01a21ed6-028a-763c-bfa9-e00308eacf9d', 2, 'grant', 10, 35, NULL, NULL, 'a gift', 1795813688707, 'f812b251ca6122dd7be2ebc549546a33d66a15834048c893dfb491cb0ac3f167', NULL, NULL),
	('01a21ed6-09c1-7691-ab6b-89a45a13ec2c', 2, 'correction', 5, 35, NULL, NULL, 'a mistake', 1795813689025, '515a1b31517738bf75665a488ff75333b9ccac679dba5dda70bb285edd61cd15', NULL, NULL),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 4, 'charge', 2, 1458, '01a21ed6-4718-7329-baa8-4b23240a53d4', 2, NULL, 1795813689651, '4df6bcd24fd4f123d322e66c2e68050a59e28065749555375b31f8f4756ca91d', '01a21ed6-10a4-7596-a05a-e2e27fdec97a', 1795813689126),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 5, 'charge', 1, 1457, '01a21ed6-494f-718f-9151-50835ea05044', 1, NULL, 1795813689700, '98d463c228a6035c7dca79846a3e001dc10d1b231a7440585455384ed10c9669', '01a21ed6-10a4-7596-a05a-e2e27fdec97a', NULL),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 6, 'charge', 3, 1454, '01a21ed6-499a-7669-b674-ce41265dd8ba', 3, NULL, 1795813689786, 'ca2c409d04b1bd73649955abe5be64580446f14b260d27c272481e8135d60275', '01a21ed6-10a4-7596-a05a-e2e27fdec97a', 1795813689758),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 7, 'charge', 2, 1452, '01a21ed6-49d7-73dd-899b-33540b99059c', 2, NULL, 1795813689828, 'd03bdcca2097a459d245779c28b56983cb29809232df49496667f2588d394f2e', '01a21ed6-10a4-7596-a05a-e2e27fdec97a', NULL),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 8, 'charge', 2, 1450, '01a21ed6-49f6-7296-b43c-bc7246d065a6', 2, NULL, 1795813689910, '945c16e0d0675abefadf45fdf686eb4d1bff6eb70a6a80782307ac34c284653f', '01a21ed6-15ff-7575-b0fc-9c331b923011', 1795813689853),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 9, 'charge', 3, 1447, '01a21ed6-4aad-75b8-a2bc-f10b4a6a1823', 3, NULL, 1795813690113, '6b2951d000af5751262946eab3e6e3e98995660e214dd2fe14d7970a1da12920', '01a21ed6-15ff-7575-b0fc-9c331b923011', 1795813690039),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 10, 'charge', 2, 1445, '01a21ed6-4b6e-70e4-8087-8cfc3c3323e0', 2, NULL, 1795813690261, '4c1dc2600dec89abcc45f9d1f7f44714d99625fc97450c987e9334f4a0b2e826', '01a21ed6-24ca-73e0-9fe9-ca49a5ef1b9b', 1795813690228),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 11, 'charge', 2, 1443, '01a21ed6-4bd1-72cd-9c15-d28350d2e232', 2, NULL, 1795813690374, '90784e7633bd3d62aa787f0ae51e337da699fed1ff23dd86c56dd3d1a8b54458', '01a21ed6-2337-75ea-9528-eedc1944ab9d', 1795813690331),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 12, 'charge', 1, 1442, '01a21ed6-4c3f-737b-89e7-55f98fe1d24b', 1, NULL, 1795813690539, 'c8240efe8d18e1a18f5a6f8c74b5efa4c24f28ea64f9eefdd169b770e1e85690', '01a21ed6-270c-76cc-ad00-b8b3e079d09f', 1795813690450),
	('01a21ed6-028a-763c-bfa9-e00308eacf9d', 3, 'charge', 2, 33, '01a21ed6-4cc4-7379-b903-b000d1743f05', 2, NULL, 1795813690625, '1e7679b806688c8c47231b8266da89aefa20f8f6aee5e002451bd953ddd89e3c', '01a21ed6-2cc9-7496-ab85-90d7fa06faea', 1795813690572),
	('01a21ed6-09c1-7691-ab6b-89a45a13ec2c', 3, 'charge', 1, 34, '01a21ed6-4d34-7558-bd2d-c89517f21882', 1, NULL, 1795813690691, '05577b479c2aa434dbdb1fbadc68e934ef3a327c93a57d2c18ecb370add197d8', '01a21ed6-2fcb-7595-b97d-76c3b094ba6f', NULL),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 13, 'charge', 1, 1441, '01a21ed6-5230-77a0-aca0-8a42a8a8c61e', 1, NULL, 1795813691986, 'e8c8214d333012e0b5a4356f6d46e312075fd0b16fea7ba08dc4dc52cdaa0877', '01a21ed6-10a4-7596-a05a-e2e27fdec97a', 1795813691959);

INSERT INTO figures VALUES
	('moz', 'example.net/', 27, 72, 22, 1795813689631, NULL, NULL, NULL),
	('moz', 'example.com/a?b=c&d', 65, 44, 38, 1795813689781, NULL, NULL, NULL),
	('moz', 'www.wikipedia.org/wiki/Domain', 22, 5, 82, 1795813689781, NULL, NULL, NULL),
	('moz', 'example.org/', 30, 7, 33, 1795813689906, NULL, NULL, NULL),
	('moz', 'example.org/b', 100, 39, 50, 1795813689906, NULL, NULL, NULL),
	('moz', 'xn--bcher-kva.de/', 67, 14, 13, 1795813690106, NULL, NULL, NULL),
	('moz', 'xn--r8jz45g.jp/%E3%83%91%E3%82%B9?q=%C3%A9', 73, 94, 40, 1795813690106, NULL, NULL, NULL),
	('moz', 'www.iana.org/', 54, 56, 48, 1795813690257, NULL, NULL, NULL),
	('moz', 'www.ietf.org/', 65, 11, 32, 1795813690370, NULL, NULL, NULL),
	('moz', 'www.rfc-editor.org/', 26, 9, 56, 1795813690370, NULL, NULL, NULL),
	('moz', 'www.w3.org/', 54, 19, 5, 1795813690515, NULL, NULL, NULL),
	('moz', 'example.com/c', 88, 76, 77, 1795813690615, NULL, NULL, NULL),
	('moz', 'www.iso.org/', 1, 12, 3, 1795813690615, NULL, NULL, NULL),
	('moz', 'example.com/', 54, 77, 35, 1795813691984, NULL, NULL, NULL);

INSERT INTO holds VALUES
	('01a21ed6-70af-7665-ad2f-4a75b6bacdf6', '01a21ed6-00b7-71d2-963e-db62f5f07d96', 2, 1795813759768, '01a21ed6-6c69-767b-9948-073e75630920', '01a21ed6-2337-75ea-9528-eedc1944ab9d', 1795813699768),
	('01a21ed6-70b5-7587-93ad-2176aff6c8ea', '01a21ed6-028a-763c-bfa9-e00308eacf9d', 1, 1795813759824, '01a21ed6-6c69-767b-9948-073e75630920', '01a21ed6-5b33-71a9-9510-bd8172b843eb', 1795813699824);

INSERT INTO observations VALUES
	('example.com/', 'moz', 1795813689631, 1795813689631, NULL, 54, 94, 35, 0, 1795813689631);

INSERT INTO processes VALUES
	('01a21ed6-6c69-767b-9948-073e75630920', 2);

INSERT INTO purchase_days VALUES
	('moz', 20784, 13, 22, 15, 75000, 2, 3);

INSERT INTO purchases VALUES
	('01a21ed6-4751-7002-b784-c4b0bec74917', 'moz', 1795813689248, 2, 'failed', 0, 0, 0),
	('01a21ed6-48f1-754c-b0f4-e9a7804ea5a8', 'moz', 1795813689599, 2, 'answered', 2, 10000, 0),
	('01a21ed6-49ac-703b-a9ea-729dc33bc4bc', 'moz', 1795813689773, 2, 'answered', 2, 10000, 0),
	('01a21ed6-4a1b-74bb-a941-87d0922a490c', 'moz', 1795813689886, 3, 'answered', 2, 10000, 0),
	('01a21ed6-4a82-7777-8dd5-4711b183011e', 'moz', 1795813689992, 1, 'answered', 0, 0, 0),
	('01a21ed6-4ae1-76f1-aea1-fd80fc64d9a8', 'moz', 1795813690089, 2, 'answered', 2, 10000, 0),
	('01a21ed6-4b8a-70b3-96cc-025bacecac47', 'moz', 1795813690251, 1, 'answered', 1, 5000, 0),
	('01a21ed6-4bf1-73a1-b0f9-8d994c545673', 'moz', 1795813690363, 2, 'answered', 2, 10000, 0),
	('01a21ed6-4c7c-7370-b7bb-e82d2f6bf9a1', 'moz', 1795813690503, 1, 'answered', 1, 5000, 0),
	('01a21ed6-4cdd-747b-b9af-0e10b70ebbdc', 'moz', 1795813690592, 2, 'answered', 2, 10000, 0),
	('01a21ed6-5243-7599-8a46-8ac07ca72e1f', 'moz', 1795813691972, 1, 'answered', 1, 5000, 0),
	('01a21ed6-7108-76df-9fc6-1ea0c4034f87', 'moz', 1795813699851, 2, 'unknown', NULL, NULL, NULL),
	('01a21ed6-710f-77d7-afbf-e255a46bb6d6', 'moz', 1795813699863, 1, 'unknown', NULL, NULL, NULL);

INSERT INTO receipts VALUES
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 'invoice-1', 'c3c82cd0cb9eeacec41e548d9a81c6f972b3468ec1db6be0740ab8444549608d', '01a21ed6-494f-718f-9151-50835ea05044', '{"creditsUsed":1,"outcomes":[[54,94,35]]}', 1795900089700),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 'invoice-2', 'f2ec9534cc03b2bc712b6ef8af42b48831d6ee4eae6aca51510cfd5706d859f4', '01a21ed6-499a-7669-b674-ce41265dd8ba', '{"creditsUsed":3,"outcomes":[[22,5,82],[65,44,38],[54,94,35]]}', 1795900089786),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 'in quotes, with "more" and \', '9c36e627ba1537b2c1c4d291fd6f12627e845e37336dfe89d01bfc6f6463817a', '01a21ed6-49d7-73dd-899b-33540b99059c', '{"creditsUsed":2,"outcomes":[[54,94,35],[54,94,35]]}', 1795900089828),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 'a-failure', '0dde26927037a19cb0011bf70f9272e511635a9cb835385bcb564cbc9073fc9e', '01a21ed6-49f6-7296-b43c-bc7246d065a6', '{"creditsUsed":2,"outcomes":["INVALID_URL",[30,7,33],"PROVIDER_ERROR",[100,39,50]]}', 1795900089910),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 'only-failures', '6f896b95af954c3a4c4d1d37215a14b6941f1f4895d9652da4e907e994a838de', '01a21ed6-4a6a-76f3-be53-2fdbff06b2ca', '{"creditsUsed":0,"outcomes":["PROVIDER_ERROR","PROVIDER_ERROR"]}', 1795900090013),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 'non-ascii', '9e8a272d7552ba0c37458108eed16fbf25bf822a950997305522bd1dced9b58f', '01a21ed6-4aad-75b8-a2bc-f10b4a6a1823', '{"creditsUsed":3,"outcomes":[[67,14,13],[73,94,40],[67,14,13]]}', 1795900090113),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 'with-provenance', '4dec946230f630b79b0f26857ff6e3140976933c8b0ca9b953a9d249245c6fa9', '01a21ed6-4b6e-70e4-8087-8cfc3c3323e0', '{"creditsUsed":2,"outcomes":[[54,94,35],"PROVIDER_ERROR",[54,56,48]],"sources":[{"provider":"moz","source":"known","fetchedAt":"2026-11-27T21:08:09.631Z","ageSeconds":0,"index":null},{"cause":"unknown","detail":"Moz does not know the page (error -32655)."},{"provider":"moz","source":"bought","fetchedAt":"2026-11-27T21:08:10.257Z","ageSeconds":0,"index":null}]}', 1795900090261),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 'of-a-budget', 'efbdcee633d0c1fd6ebee931c3fbcc6938d52764d6e19a1c9d17ba44d7d7d685', '01a21ed6-4bd1-72cd-9c15-d28350d2e232', '{"creditsUsed":2,"outcomes":[[65,11,32],[26,9,56]]}', 1795900090374),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', '0c5e7d0f-3f0c-4b43-9a55-0a4f0e0c7d52', '009500429c1efe0018a99d529c5afb129ef9aaf37e5debaf675fa7dbf8fe7161', '01a21ed6-4c3f-737b-89e7-55f98fe1d24b', '{"creditsUsed":1,"outcomes":[[54,19,5]]}', 1795900090539),
	('01a21ed6-028a-763c-bfa9-e00308eacf9d', 'invoice-1', '5554c236e5e11f6b2fe7613024bc689683300ddd3fcf1f3c5aeef99a7c6b29c7', '01a21ed6-4cc4-7379-b903-b000d1743f05', '{"creditsUsed":2,"outcomes":[[1,12,3],[88,76,77]]}', 1795900090625),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 'left-open', '08c885e0d2be5cbe3004742c6f0ebf36f318552c14a39d0cd73d6d1a4ccb7604', '01a21ed6-70af-7665-ad2f-4a75b6bacdf6', NULL, 1795813759768);

INSERT INTO usage VALUES
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 20784, '01a21ed6-15ff-7575-b0fc-9c331b923011', 5, 5, 0, 1, 3, 0),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 20784, '01a21ed6-24ca-73e0-9fe9-ca49a5ef1b9b', 2, 2, 1, 0, 1, 0),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 20784, '01a21ed6-2337-75ea-9528-eedc1944ab9d', 2, 2, 0, 0, 0, 0),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 20784, '01a21ed6-270c-76cc-ad00-b8b3e079d09f', 1, 1, 0, 0, 0, 0),
	('01a21ed6-028a-763c-bfa9-e00308eacf9d', 20784, '01a21ed6-2cc9-7496-ab85-90d7fa06faea', 2, 2, 0, 0, 0, 0),
	('01a21ed6-09c1-7691-ab6b-89a45a13ec2c', 20784, '01a21ed6-2fcb-7595-b97d-76c3b094ba6f', 1, 1, 1, 1, 0, 0),
	('01a21ed6-00b7-71d2-963e-db62f5f07d96', 20784, '01a21ed6-10a4-7596-a05a-e2e27fdec97a', 9, 9, 4, 0, 0, 0);

INSERT INTO vendors VALUES
	('moz', 0);

ALTER TABLE ONLY accounts
    ADD CONSTRAINT accounts_name_key UNIQUE (name);

ALTER TABLE ONLY accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY act_requests
    ADD CONSTRAINT act_requests_pkey PRIMARY KEY (request_key, action);

ALTER TABLE ONLY api_keys
    ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);

ALTER TABLE ONLY api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY audit_head
    ADD CONSTRAINT audit_head_pkey PRIMARY KEY (id);

ALTER TABLE ONLY audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (sequence);

ALTER TABLE ONLY balances
    ADD CONSTRAINT balances_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY budget_uses
    ADD CONSTRAINT budget_uses_pkey PRIMARY KEY (budget_id, start);

ALTER TABLE ONLY budgets
    ADD CONSTRAINT budgets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (provider, page);

ALTER TABLE ONLY effect_sql_migrations
    ADD CONSTRAINT effect_sql_migrations_pkey PRIMARY KEY (migration_id);

ALTER TABLE ONLY entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (account_id, sequence);

ALTER TABLE ONLY entries
    ADD CONSTRAINT entries_request_id_key UNIQUE (request_id);

ALTER TABLE ONLY figures
    ADD CONSTRAINT figures_pkey PRIMARY KEY (provider, page);

ALTER TABLE ONLY holds
    ADD CONSTRAINT holds_pkey PRIMARY KEY (request_id);

ALTER TABLE ONLY migration_lock
    ADD CONSTRAINT migration_lock_pkey PRIMARY KEY (id);

ALTER TABLE ONLY observations
    ADD CONSTRAINT observations_pkey PRIMARY KEY (page, provider, fetched_at);

ALTER TABLE ONLY processes
    ADD CONSTRAINT processes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY purchase_days
    ADD CONSTRAINT purchase_days_pkey PRIMARY KEY (provider, day);

ALTER TABLE ONLY purchases
    ADD CONSTRAINT purchases_pkey PRIMARY KEY (id);

ALTER TABLE ONLY ranking
    ADD CONSTRAINT ranking_pkey PRIMARY KEY (id);

ALTER TABLE ONLY ranks_0
    ADD CONSTRAINT ranks_0_pkey PRIMARY KEY (name);

ALTER TABLE ONLY ranks_1
    ADD CONSTRAINT ranks_1_pkey PRIMARY KEY (name);

ALTER TABLE ONLY receipts
    ADD CONSTRAINT receipts_pkey PRIMARY KEY (account_id, key);

ALTER TABLE ONLY usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (account_id, day, api_key_id);

ALTER TABLE ONLY vendor_readings
    ADD CONSTRAINT vendor_readings_pkey PRIMARY KEY (provider, at);

ALTER TABLE ONLY vendors
    ADD CONSTRAINT vendors_pkey PRIMARY KEY (name);

CREATE INDEX api_keys_by_account ON api_keys USING btree (account_id, created_at);

CREATE INDEX audit_log_by_row ON audit_log USING btree (row_table, row_id, sequence);

CREATE INDEX budgets_by_account ON budgets USING btree (account_id);

CREATE INDEX figures_by_age ON figures USING btree (fetched_at);

CREATE INDEX holds_by_expiry ON holds USING btree (expires_at);

CREATE INDEX observations_by_age ON observations USING btree (stored_at);

CREATE INDEX purchases_by_time ON purchases USING btree (at);

CREATE INDEX receipts_by_expiry ON receipts USING btree (expires_at);

CREATE INDEX usage_by_day ON usage USING btree (day);

CREATE UNIQUE INDEX vendor_readings_by_day ON vendor_readings USING btree (provider, day);

CREATE TRIGGER figures_changed BEFORE UPDATE ON figures FOR EACH ROW WHEN (((new.since IS NULL) AND (old.fetched_at < new.fetched_at))) EXECUTE FUNCTION keep_figures();

ALTER TABLE ONLY api_keys
    ADD CONSTRAINT api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);

ALTER TABLE ONLY api_keys
    ADD CONSTRAINT api_keys_budget_id_fkey FOREIGN KEY (budget_id) REFERENCES budgets(id);

ALTER TABLE ONLY balances
    ADD CONSTRAINT balances_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);

ALTER TABLE ONLY budget_uses
    ADD CONSTRAINT budget_uses_budget_id_fkey FOREIGN KEY (budget_id) REFERENCES budgets(id);

ALTER TABLE ONLY budgets
    ADD CONSTRAINT budgets_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);

ALTER TABLE ONLY entries
    ADD CONSTRAINT entries_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);

ALTER TABLE ONLY holds
    ADD CONSTRAINT holds_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);

ALTER TABLE ONLY receipts
    ADD CONSTRAINT receipts_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);

ALTER TABLE ONLY usage
    ADD CONSTRAINT usage_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);
