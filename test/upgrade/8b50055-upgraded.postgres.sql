-- A database of schema 16 that version 8b50055 wrote on PostgreSQL 15, for Upgrade.test.ts.
-- The database was 47bc1c2.postgres.sql, which was migrated and used.
-- 8b50055-upgraded.json has its API keys, and the requests and answers of its stored answers. The
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
	('01a205cc-674e-7490-903a-478648f68b05', 'acme', 1795393611601, NULL),
	('01a205cc-6d1e-743b-a0f7-398927c85f42', 'globex', 1795393613088, NULL),
	('01a205cc-72d4-75a8-ad36-f78aede1f995', 'initech', 1795393614550, NULL),
	('01a21ed7-43b5-71f3-8655-c0a75a3e2261', 'hooli', 1795813753783, 1795813774852);

INSERT INTO act_requests VALUES
	('grant-1', 'credits.grant', '1e31be682eda037ce8d181f32efa81fef2829d6282cef8a1a59eab95252f2233', '01a205cc-6d1e-743b-a0f7-398927c85f42'),
	('grant-2', 'credits.correct', '76e84bd072a9b9eae211dd20ed7e567188d0f9edf25180c23cb277556a5a6d26', '01a21ed7-43b5-71f3-8655-c0a75a3e2261');

INSERT INTO api_keys VALUES
	('01a205cc-7f83-73ec-b2ea-45d2eda18ac1', '01a205cc-674e-7490-903a-478648f68b05', 'shop', '033b0badd017cc6b6a093004735f415f198a40f9bc9d7155c1217702c5df0431', 'am_FVOAYi', 1795393617793, NULL, NULL, NULL, 1795393635074, NULL, 'check,read'),
	('01a205cc-8590-7035-a3e3-aaba24d64182', '01a205cc-674e-7490-903a-478648f68b05', 'búsqueda', 'e5236a2e004ce16d97929124aabc8bd6468a4ed565cc5e994a0aeb72eb6bdca5', 'am_XEx3lD', 1795393619342, 2110753619342, 315360000000, NULL, 1795393631603, NULL, 'check,read'),
	('01a205cc-8b0d-7394-85dc-01ec16321f89', '01a205cc-674e-7490-903a-478648f68b05', NULL, '865d01d2a371cc8a99465d915faa9fcdeb429e0dd1a79b1d9feb8f32113c44c2', 'am_O0gkba', 1795393620747, 1795393621747, 1000, NULL, NULL, NULL, 'check,read'),
	('01a205cc-90d3-7493-901f-61a562243e71', '01a205cc-674e-7490-903a-478648f68b05', NULL, '1e340dd47854a83ea793e2dde5134cbe76edf2e9a4ec08119f19ac77769f3dfc', 'am_3nMuuU', 1795393622225, NULL, NULL, 1795393623665, NULL, NULL, 'check,read'),
	('01a205cc-9bfa-77ea-a196-8432bd1197a0', '01a205cc-6d1e-743b-a0f7-398927c85f42', 'crawler', 'fbcd70b2d6f68cdcbf947e02e65e0bb61117fb9ae1b1014e7dca34478515c099', 'am_pKWL9X', 1795393625081, 1795393627474, NULL, NULL, NULL, NULL, 'check,read'),
	('01a205cc-a172-740a-8323-839e97cc0dcf', '01a205cc-6d1e-743b-a0f7-398927c85f42', 'crawler', '1c2d37154450eb858073fd9774291f38299f8a46f2d968b55828142ebc439ffa', 'am_Wn2Tth', 1795393626474, NULL, NULL, NULL, 1795393631645, NULL, 'check,read'),
	('01a205cc-a704-7707-bf7d-8fa4170f686d', '01a205cc-72d4-75a8-ad36-f78aede1f995', NULL, '05414224e879888ab565b3f255f57dbd2f46c6a64c7fdb6fa97c489fe88b8e2e', 'am_jRsAhP', 1795393627907, NULL, NULL, NULL, NULL, NULL, 'check,read'),
	('01a21ed7-4e7c-7585-bb24-6d6239ffb17f', '01a205cc-674e-7490-903a-478648f68b05', NULL, '36004e61a5a5744a819f30b8a9afcb69b93231cdda6068624ed8818db02658d3', 'am_i8Oqgm', 1795813756539, 1795813757539, 1000, NULL, NULL, NULL, 'check,read'),
	('01a21ed7-5292-712a-bca2-59bc0af05aba', '01a205cc-674e-7490-903a-478648f68b05', NULL, '89278cfb3973d4f9b31a43b9e29c82c6a9fb248344c1de2eece956d623851073', 'am_Cim01Z', 1795813757585, NULL, NULL, 1795813774103, NULL, NULL, 'check'),
	('01a21ed7-465e-720c-b896-23f26af25eee', '01a205cc-674e-7490-903a-478648f68b05', 'shop', '9902587fbaee9a638635938d6341051e16e1c9fcb04f405defd510ce910d40db', 'am_wHGHZm', 1795813754461, NULL, NULL, NULL, 1795813768781, NULL, 'check,read'),
	('01a21ed7-4a59-741d-9f75-33dc9597daaf', '01a205cc-674e-7490-903a-478648f68b05', 'búsqueda', 'ac04b5866dad0e809b00a81abe4a5ffa415c8ea1927d9fb3ae06301ff1489356', 'am_C3oWDa', 1795813755480, 2111173755480, 315360000000, NULL, 1795813769384, NULL, 'check,read'),
	('01a21ed7-558a-7568-9ab6-e3d75acab54a', '01a205cc-674e-7490-903a-478648f68b05', 'interns', '691dd4e24dd8fe41fadbe8573151d456e48ea2b965d3a0874df625ec69f138b8', 'am_BImu5d', 1795813758345, NULL, NULL, NULL, 1795813769939, '01a21ed7-5592-7457-a8c5-7f8401ff14a7', 'check,read'),
	('01a21ed7-58b5-7384-862b-ad0fe0ad7ec2', '01a205cc-674e-7490-903a-478648f68b05', NULL, 'e003aebdd3fa6b9c9560fb1515bb17441433acfe1735816d7735fdc057bc8532', 'am_1ac9Mx', 1795813759155, NULL, NULL, NULL, 1795813769820, '01a21ed7-58bb-777f-9174-abaf55b1c015', 'check,read'),
	('01a21ed7-5c08-7401-ae96-d6b7f966ec73', '01a205cc-674e-7490-903a-478648f68b05', NULL, '3e7b5136b3906444d416f3737d2fe4b5b369ed3e07119529989b2d5ff740b717', 'am_732vz5', 1795813760007, NULL, NULL, NULL, 1795813770004, '01a21ed7-5c17-71bf-ae82-086ad059295e', 'check'),
	('01a21ed7-5f20-7784-b0cc-a9dd1c7c7608', '01a205cc-674e-7490-903a-478648f68b05', 'dashboard', '131b42f1d2d0516f3661db68da6cc3d3d754468a576eaaf147a4351046a355ce', 'am_bCPQMr', 1795813760799, NULL, NULL, NULL, 1795813770216, NULL, 'read'),
	('01a21ed7-65a7-71d3-b007-fae488acacb8', '01a21ed7-43b5-71f3-8655-c0a75a3e2261', NULL, '4ce11d7f8234c48edce025361a0f2e12d6ded6d269eab2107d19544da50477f4', 'am_LbBrwz', 1795813762467, NULL, NULL, NULL, 1795813770189, NULL, 'check,read'),
	('01a21ed7-6208-7170-bc30-ab8ccf33761e', '01a205cc-6d1e-743b-a0f7-398927c85f42', 'crawler', 'f91c755c2b5c0f326f79767acb71ae6fbdc27546afd545a44bd36cb2d53a6340', 'am_788D2S', 1795813761543, 1795813773293, NULL, NULL, 1795813770129, '01a21ed7-6217-70a8-b635-4f375452decc', 'check,read'),
	('01a21ed7-8ff1-72c2-92c8-e728d9818e1b', '01a205cc-6d1e-743b-a0f7-398927c85f42', 'crawler', 'fb79b01d67b5cad0df2b582b50e7548721817437de2f54ebcc50628f006dab41', 'am_t94pT8', 1795813773293, NULL, NULL, NULL, NULL, '01a21ed7-6217-70a8-b635-4f375452decc', 'check,read');

INSERT INTO audit_head VALUES
	(1, 24, '35e95e593ea0ef84e5fc8a1426d975b7e9c913b561124e1a0260b3b1a11bca64');

INSERT INTO audit_log VALUES
	(1, 1795813753193, 'cli:root', 'log.begin', 'the audit log', '{"accounts":3,"keys":7,"granted":"1525"}', NULL, NULL, NULL, NULL, 'c60f12d69546ee0bf43c4259f9939929581e03d1573c0c422229636e12748d71'),
	(2, 1795813753796, 'cli:root', 'account.create', 'hooli', '{}', 'accounts', '01a21ed7-43b5-71f3-8655-c0a75a3e2261', '{"changed":null,"row":{"id":"01a21ed7-43b5-71f3-8655-c0a75a3e2261","name":"hooli","createdAt":"1795813753783"}}', NULL, '870c13ad7e48ec8a323c74f3b710a573b138ecac63a25c917d38361b2d30ee7e'),
	(3, 1795813753823, 'cli:root', 'credits.grant', 'hooli', '{"amount":40,"note":"opening grant","entry":1}', 'accounts', '01a21ed7-43b5-71f3-8655-c0a75a3e2261', NULL, 40, '01e8bff74cca986a3827bab1879aed75827935e19089f4139a5dccd5032f3c10'),
	(4, 1795813754472, 'cli:root', 'key.create', '01a21ed7-465e-720c-b896-23f26af25eee', '{"account":"acme","label":"shop","start":"am_wHGHZm","expiresAt":null,"scopes":"check,read"}', 'api_keys', '01a21ed7-465e-720c-b896-23f26af25eee', '{"changed":null,"row":{"id":"01a21ed7-465e-720c-b896-23f26af25eee","accountId":"01a205cc-674e-7490-903a-478648f68b05","label":"shop","hash":"9902587fbaee9a638635938d6341051e16e1c9fcb04f405defd510ce910d40db","start":"am_wHGHZm","createdAt":"1795813754461","scopes":"check,read"}}', NULL, '73b5f94cf3dbcca10b6bcbefd2632ab10fcc62f37994ccbc23c59c95bbf9b74e'),
	(5, 1795813755511, 'cli:root', 'key.create', '01a21ed7-4a59-741d-9f75-33dc9597daaf', '{"account":"acme","label":"búsqueda","start":"am_C3oWDa","expiresAt":"2036-11-24T21:09:15.480Z","scopes":"check,read"}', 'api_keys', '01a21ed7-4a59-741d-9f75-33dc9597daaf', '{"changed":null,"row":{"id":"01a21ed7-4a59-741d-9f75-33dc9597daaf","accountId":"01a205cc-674e-7490-903a-478648f68b05","label":"búsqueda","hash":"ac04b5866dad0e809b00a81abe4a5ffa415c8ea1927d9fb3ae06301ff1489356","start":"am_C3oWDa","createdAt":"1795813755480","expiresAt":"2111173755480","lifetimeMs":"315360000000","scopes":"check,read"}}', NULL, '7ee4855d44a20f7a7184b39b4ccd6e577bc47e5ce9ec9ba932202c173e2253d2'),
	(6, 1795813756556, 'cli:root', 'key.create', '01a21ed7-4e7c-7585-bb24-6d6239ffb17f', '{"account":"acme","label":null,"start":"am_i8Oqgm","expiresAt":"2026-11-27T21:09:17.539Z","scopes":"check,read"}', 'api_keys', '01a21ed7-4e7c-7585-bb24-6d6239ffb17f', '{"changed":null,"row":{"id":"01a21ed7-4e7c-7585-bb24-6d6239ffb17f","accountId":"01a205cc-674e-7490-903a-478648f68b05","hash":"36004e61a5a5744a819f30b8a9afcb69b93231cdda6068624ed8818db02658d3","start":"am_i8Oqgm","createdAt":"1795813756539","expiresAt":"1795813757539","lifetimeMs":"1000","scopes":"check,read"}}', NULL, '422ec49ca4631d9ad2401b6ba417c730b24954d36202b2d19a37404cff1da001'),
	(7, 1795813757608, 'cli:root', 'key.create', '01a21ed7-5292-712a-bca2-59bc0af05aba', '{"account":"acme","label":null,"start":"am_Cim01Z","expiresAt":null,"scopes":"check"}', 'api_keys', '01a21ed7-5292-712a-bca2-59bc0af05aba', '{"changed":null,"row":{"id":"01a21ed7-5292-712a-bca2-59bc0af05aba","accountId":"01a205cc-674e-7490-903a-478648f68b05","hash":"89278cfb3973d4f9b31a43b9e29c82c6a9fb248344c1de2eece956d623851073","start":"am_Cim01Z","createdAt":"1795813757585","scopes":"check"}}', NULL, '7061e871769e19c0409ce616c69968d8fea7ff125d574a10f98a624e369ec791'),
	(8, 1795813758377, 'cli:root', 'key.create', '01a21ed7-558a-7568-9ab6-e3d75acab54a', '{"account":"acme","label":"interns","start":"am_BImu5d","expiresAt":null,"scopes":"check,read","budget":"20/total"}', 'api_keys', '01a21ed7-558a-7568-9ab6-e3d75acab54a', '{"changed":null,"row":{"id":"01a21ed7-558a-7568-9ab6-e3d75acab54a","accountId":"01a205cc-674e-7490-903a-478648f68b05","label":"interns","hash":"691dd4e24dd8fe41fadbe8573151d456e48ea2b965d3a0874df625ec69f138b8","start":"am_BImu5d","createdAt":"1795813758345","budgetId":"01a21ed7-5592-7457-a8c5-7f8401ff14a7","scopes":"check,read","budget":"20/total"}}', NULL, '72fec8e4095a5ea5b69432e190a38bf47dfe630fe38b504b702b7782669ee8da'),
	(9, 1795813759194, 'cli:root', 'key.create', '01a21ed7-58b5-7384-862b-ad0fe0ad7ec2', '{"account":"acme","label":null,"start":"am_1ac9Mx","expiresAt":null,"scopes":"check,read","budget":"500/day"}', 'api_keys', '01a21ed7-58b5-7384-862b-ad0fe0ad7ec2', '{"changed":null,"row":{"id":"01a21ed7-58b5-7384-862b-ad0fe0ad7ec2","accountId":"01a205cc-674e-7490-903a-478648f68b05","hash":"e003aebdd3fa6b9c9560fb1515bb17441433acfe1735816d7735fdc057bc8532","start":"am_1ac9Mx","createdAt":"1795813759155","budgetId":"01a21ed7-58bb-777f-9174-abaf55b1c015","scopes":"check,read","budget":"500/day"}}', NULL, 'd23e21544d10ac84ab87d73b65e422d849caf0f9e0b4d05cad9e5729be5f3e79'),
	(10, 1795813760053, 'cli:root', 'key.create', '01a21ed7-5c08-7401-ae96-d6b7f966ec73', '{"account":"acme","label":null,"start":"am_732vz5","expiresAt":null,"scopes":"check","budget":"2000/month"}', 'api_keys', '01a21ed7-5c08-7401-ae96-d6b7f966ec73', '{"changed":null,"row":{"id":"01a21ed7-5c08-7401-ae96-d6b7f966ec73","accountId":"01a205cc-674e-7490-903a-478648f68b05","hash":"3e7b5136b3906444d416f3737d2fe4b5b369ed3e07119529989b2d5ff740b717","start":"am_732vz5","createdAt":"1795813760007","budgetId":"01a21ed7-5c17-71bf-ae82-086ad059295e","scopes":"check","budget":"2000/month"}}', NULL, '9de611e738cadf0f6863fdeabb274acba2470e240dc6dca26e9212cd89139d00'),
	(11, 1795813760816, 'cli:root', 'key.create', '01a21ed7-5f20-7784-b0cc-a9dd1c7c7608', '{"account":"acme","label":null,"start":"am_bCPQMr","expiresAt":null,"scopes":"read"}', 'api_keys', '01a21ed7-5f20-7784-b0cc-a9dd1c7c7608', '{"changed":null,"row":{"id":"01a21ed7-5f20-7784-b0cc-a9dd1c7c7608","accountId":"01a205cc-674e-7490-903a-478648f68b05","hash":"131b42f1d2d0516f3661db68da6cc3d3d754468a576eaaf147a4351046a355ce","start":"am_bCPQMr","createdAt":"1795813760799","scopes":"read"}}', NULL, '641195b646d47d569fc1ba17478c0c705f51c96b89e52923b50476ae59171cff'),
	(12, 1795813761623, 'cli:root', 'key.create', '01a21ed7-6208-7170-bc30-ab8ccf33761e', '{"account":"globex","label":"crawler","start":"am_788D2S","expiresAt":null,"scopes":"check,read","budget":"10/total"}', 'api_keys', '01a21ed7-6208-7170-bc30-ab8ccf33761e', '{"changed":null,"row":{"id":"01a21ed7-6208-7170-bc30-ab8ccf33761e","accountId":"01a205cc-6d1e-743b-a0f7-398927c85f42","label":"crawler","hash":"f91c755c2b5c0f326f79767acb71ae6fbdc27546afd545a44bd36cb2d53a6340","start":"am_788D2S","createdAt":"1795813761543","budgetId":"01a21ed7-6217-70a8-b635-4f375452decc","scopes":"check,read","budget":"10/total"}}', NULL, '016cad7e7599c67200aed2943e3651526a733a9d87cfbcb8d5ecc5ce7135525c'),
	(13, 1795813762495, 'cli:root', 'key.create', '01a21ed7-65a7-71d3-b007-fae488acacb8', '{"account":"hooli","label":null,"start":"am_LbBrwz","expiresAt":null,"scopes":"check,read"}', 'api_keys', '01a21ed7-65a7-71d3-b007-fae488acacb8', '{"changed":null,"row":{"id":"01a21ed7-65a7-71d3-b007-fae488acacb8","accountId":"01a21ed7-43b5-71f3-8655-c0a75a3e2261","hash":"4ce11d7f8234c48edce025361a0f2e12d6ded6d269eab2107d19544da50477f4","start":"am_LbBrwz","createdAt":"1795813762467","scopes":"check,read"}}', NULL, '9388e6382e0e81e4974ddd969ce6eb15b7158b6c40d4be559dc0a68d09a47893'),
	(14, 1795813763368, 'cli:root', 'key.update', '01a21ed7-5f20-7784-b0cc-a9dd1c7c7608', '{"account":"acme","label":"dashboard"}', 'api_keys', '01a21ed7-5f20-7784-b0cc-a9dd1c7c7608', '{"changed":["label"],"row":{"id":"01a21ed7-5f20-7784-b0cc-a9dd1c7c7608","accountId":"01a205cc-674e-7490-903a-478648f68b05","label":"dashboard","hash":"131b42f1d2d0516f3661db68da6cc3d3d754468a576eaaf147a4351046a355ce","start":"am_bCPQMr","createdAt":"1795813760799","scopes":"read"}}', NULL, 'd3cdd956554673ccd77ca1811bb03c7a1eb0b1dfef0f822f5672d4af0361f3d4'),
	(15, 1795813764474, 'cli:root', 'credits.grant', 'acme', '{"amount":500,"note":"invoice 2, März “gross”","entry":12}', 'accounts', '01a205cc-674e-7490-903a-478648f68b05', NULL, 500, '4e25c7978aa235c6c29413c3b568a523a850de01e9d44cbd7bc23fc8b4632f61'),
	(16, 1795813765418, 'cli:root', 'credits.correct', 'acme', '{"amount":40,"note":"granted twice","entry":13}', 'accounts', '01a205cc-674e-7490-903a-478648f68b05', NULL, -40, 'df7d6a721857024aafc2ceed3136d5143b790774417202869f84b2888fa3f438'),
	(17, 1795813766608, 'cli:root', 'credits.correct', 'globex', '{"refused":"only 21 credits can be taken away, because what is charged or held stays; correct at most that, or suspend the account"}', NULL, NULL, NULL, NULL, '37cdfaa487f1360595bf0cf3b9b63dc5a7c33d1be348a01b88344743a01560e8'),
	(18, 1795813768706, 'admin@127.0.0.1', 'credits.grant', 'globex', '{"amount":10,"note":"a gift","entry":4}', 'accounts', '01a205cc-6d1e-743b-a0f7-398927c85f42', NULL, 10, '1c92d62858493e959b060d0bc3e8351559370c61757e9fcdd2880457e56f34b8'),
	(19, 1795813768749, 'admin@127.0.0.1', 'credits.correct', 'hooli', '{"amount":5,"note":"a mistake","entry":2}', 'accounts', '01a21ed7-43b5-71f3-8655-c0a75a3e2261', NULL, -5, '9d546af7865be8dcaf550fffae5b6c6c47ed16c4008543e2f0d002c7ccfc7700'),
	(20, 1795813768766, 'admin@127.0.0.1', 'credits.grant', 'nobody', '{"refused":"no account has the name or id \"nobody\"; see ''authority account list''"}', NULL, NULL, NULL, NULL, '73d49b13f2cad9530fd741cfe93f42a3a95defa615751c39b51849535ce9a3d8'),
	(21, 1795813773320, 'cli:root', 'key.rotate', '01a21ed7-6208-7170-bc30-ab8ccf33761e', '{"account":"globex","successor":"01a21ed7-8ff1-72c2-92c8-e728d9818e1b","expiresAt":"2026-11-27T21:09:33.293Z"}', 'api_keys', '01a21ed7-6208-7170-bc30-ab8ccf33761e', '{"changed":["expiresAt"],"row":{"id":"01a21ed7-6208-7170-bc30-ab8ccf33761e","accountId":"01a205cc-6d1e-743b-a0f7-398927c85f42","label":"crawler","hash":"f91c755c2b5c0f326f79767acb71ae6fbdc27546afd545a44bd36cb2d53a6340","start":"am_788D2S","createdAt":"1795813761543","expiresAt":"1795813773293","budgetId":"01a21ed7-6217-70a8-b635-4f375452decc","scopes":"check,read","budget":"10/total"}}', NULL, '18e9c41e366bc11273a5c7f6fc622babd0718e958312f4d22698cea00a3940db'),
	(22, 1795813773340, 'cli:root', 'key.create', '01a21ed7-8ff1-72c2-92c8-e728d9818e1b', '{"account":"globex","label":"crawler","start":"am_t94pT8","expiresAt":null,"scopes":"check,read","budget":"10/total","replaces":"01a21ed7-6208-7170-bc30-ab8ccf33761e"}', 'api_keys', '01a21ed7-8ff1-72c2-92c8-e728d9818e1b', '{"changed":null,"row":{"id":"01a21ed7-8ff1-72c2-92c8-e728d9818e1b","accountId":"01a205cc-6d1e-743b-a0f7-398927c85f42","label":"crawler","hash":"fb79b01d67b5cad0df2b582b50e7548721817437de2f54ebcc50628f006dab41","start":"am_t94pT8","createdAt":"1795813773293","budgetId":"01a21ed7-6217-70a8-b635-4f375452decc","scopes":"check,read","budget":"10/total"}}', NULL, '52304f0cb63c4a13a085a03906abae639c9e0a10156204ffbecb6adcdcb6c32a'),
	(23, 1795813774133, 'cli:root', 'key.revoke', '01a21ed7-5292-712a-bca2-59bc0af05aba', '{"account":"acme","revokedAt":"2026-11-27T21:09:34.103Z"}', 'api_keys', '01a21ed7-5292-712a-bca2-59bc0af05aba', '{"changed":["revokedAt"],"row":{"id":"01a21ed7-5292-712a-bca2-59bc0af05aba","accountId":"01a205cc-674e-7490-903a-478648f68b05","hash":"89278cfb3973d4f9b31a43b9e29c82c6a9fb248344c1de2eece956d623851073","start":"am_Cim01Z","createdAt":"1795813757585","revokedAt":"1795813774103","scopes":"check"}}', NULL, '6cd726431f8d84b898e8241be8b4c817de76e2f5495adb7418ba64d2489b0dc1'),
	(24, 1795813774863, 'cli:root', 'account.suspend', 'hooli', '{}', 'accounts', '01a21ed7-43b5-71f3-8655-c0a75a3e2261', '{"changed":["suspendedAt"],"row":{"id":"01a21ed7-43b5-71f3-8655-c0a75a3e2261","name":"hooli","createdAt":"1795813753783","suspendedAt":"1795813774852"}}', NULL, '35e95e593ea0ef84e5fc8a1426d975b7e9c913b561124e1a0260b3b1a11bca64');

INSERT INTO balances VALUES
	('01a205cc-72d4-75a8-ad36-f78aede1f995', 0, 0, 0, 0, '', 0),
	('01a205cc-674e-7490-903a-478648f68b05', 1960, 40, 2, 23, 'eda0f1cc66bb11e4a78b9b77d01433e1c3c040fec89f7baeb73562cd62add184', 3),
	('01a205cc-6d1e-743b-a0f7-398927c85f42', 35, 5, 1, 5, 'c85079829f10a747cc0a05b8deb0957ea43a22dd7cabfe907acc29714d0d5fa2', 1),
	('01a21ed7-43b5-71f3-8655-c0a75a3e2261', 35, 1, 0, 3, '9203aa22b53a067d6b0fcc94db634955f920cbead6effce28d92b03e597e2f27', 0);

INSERT INTO budget_uses VALUES
	('01a21ed7-58bb-777f-9174-abaf55b1c015', 1795737600000, 2, 0, 0),
	('01a21ed7-5c17-71bf-ae82-086ad059295e', 1793491200000, 1, 0, 0),
	('01a21ed7-5592-7457-a8c5-7f8401ff14a7', 0, 2, 2, 1),
	('01a21ed7-6217-70a8-b635-4f375452decc', 0, 2, 1, 1);

INSERT INTO budgets VALUES
	('01a21ed7-5592-7457-a8c5-7f8401ff14a7', '01a205cc-674e-7490-903a-478648f68b05', 20, 'total', 0),
	('01a21ed7-58bb-777f-9174-abaf55b1c015', '01a205cc-674e-7490-903a-478648f68b05', 500, 'day', 1795737600000),
	('01a21ed7-5c17-71bf-ae82-086ad059295e', '01a205cc-674e-7490-903a-478648f68b05', 2000, 'month', 1793491200000),
	('01a21ed7-6217-70a8-b635-4f375452decc', '01a205cc-6d1e-743b-a0f7-398927c85f42', 10, 'total', 0);

INSERT INTO claims VALUES
	('moz', 'left-open.example.com/', '1493e189-25a8-488e-97dc-18d44b352be5', 1795813788140),
	('moz', 'left-open.example.net/', '1493e189-25a8-488e-97dc-18d44b352be5', 1795813788140),
	('moz', 'www.unicode.org/', '1493e189-25a8-488e-97dc-18d44b352be5', 1795813788140);

INSERT INTO effect_sql_migrations VALUES
	(1, '2026-11-23 00:26:51.420561+00', 'accounts_keys_ledger'),
	(2, '2026-11-23 00:26:51.420561+00', 'receipts'),
	(3, '2026-11-23 00:26:51.420561+00', 'figures'),
	(4, '2026-11-23 00:26:51.420561+00', 'rankings'),
	(5, '2026-11-27 21:09:13.11322+00', 'processes'),
	(6, '2026-11-27 21:09:13.120911+00', 'origins'),
	(7, '2026-11-27 21:09:13.126405+00', 'imports'),
	(8, '2026-11-27 21:09:13.132691+00', 'observations'),
	(9, '2026-11-27 21:09:13.145595+00', 'budgets'),
	(10, '2026-11-27 21:09:13.16503+00', 'scopes'),
	(11, '2026-11-27 21:09:13.173226+00', 'audit_log'),
	(12, '2026-11-27 21:09:13.20355+00', 'usage'),
	(13, '2026-11-27 21:09:13.210361+00', 'purchases'),
	(15, '2026-11-27 21:09:13.225038+00', 'vendor_readings'),
	(16, '2026-11-27 21:09:13.232337+00', 'claims');

INSERT INTO entries VALUES
	('01a205cc-674e-7490-903a-478648f68b05', 1, 'grant', 1000, 1000, NULL, NULL, 'opening grant', 1795393611612, '3cfdff4c1e6e5f4309d8f4090357094b226d8537bce50ab1e7f7c1f7b44031b5', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 2, 'grant', 500, 1500, NULL, NULL, 'invoice 2, März “gross”', 1795393616276, '93c3cac0bd4f0e6cc221ddbcef82dde81e5eab2230256e7c291647a6237903b9', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 3, 'charge', 2, 1498, '01a205cc-b534-73f6-9bcd-7ffd4fefa6b0', 2, NULL, 1795393631574, '3ad64165c40407e61134ecd89ea604aba38d495696deb7dbfc087d091bd5d90f', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 4, 'charge', 2, 1496, '01a205cc-b56f-736d-be3c-4df816226ed4', 2, NULL, 1795393631626, 'f5c432e59d1f46428b4e4f247ec2edabd219fb9149773274d43723bfb9368038', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 5, 'charge', 1, 1495, '01a205cc-b5b9-7234-88c1-a1af40938f2c', 1, NULL, 1795393631694, '53e972f1150eb3ebd3666066eb272785b3df0b25ea343aeb2eb0e8868f8caf57', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 6, 'charge', 3, 1492, '01a205cc-b5f0-724e-a804-985320074f5c', 3, NULL, 1795393631748, 'fa5a41ff2d4a900340788035c0b805cd8bedc28f63364df83d28a2163ef357be', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 7, 'charge', 2, 1490, '01a205cc-b627-7060-bc63-5833fcee9b5a', 2, NULL, 1795393631814, 'cd14448f912297aadb5076c31b843fa4f056a1c4160dfd527d08ffe733be5907', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 8, 'charge', 3, 1487, '01a205cc-b660-758f-967d-0ab7d04854ac', 3, NULL, 1795393631861, '6ec523ffbc83fad1b635db362e3ee2b71e29c5e4e1c9fb5d695cba416a0666ab', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 9, 'charge', 5, 1482, '01a205cc-b6de-7046-97d7-0ea9c9766a09', 5, NULL, 1795393632008, '3fed81ca33834b4d41e1f68d9d4206fe446d83a59a69aeabb3ce6a18727210e1', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 10, 'charge', 1, 1481, '01a205cc-b72f-75b3-81ff-621a4bba75fa', 1, NULL, 1795393632069, 'fca16c5596f1df39f5f19fd23d6bdc3c26fb74fe911fde507ae887aa64fb837b', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 11, 'charge', 2, 1479, '01a205cc-c2fa-7186-b113-d1c4c0c32961', 2, NULL, 1795393635114, '98d1913cbc7b23cd5faee099caa9c4cef0fcb0cbb88fd277d2c0faef2dc7191a', NULL, NULL),
	('01a205cc-6d1e-743b-a0f7-398927c85f42', 1, 'grant', 25, 25, NULL, NULL, 'opening grant', 1795393613098, '6e95295eed0ed2c6a823b25cb26cd2c11d738da29d7e7bfd72f18ac464e31dff', NULL, NULL),
	('01a205cc-6d1e-743b-a0f7-398927c85f42', 2, 'charge', 1, 24, '01a205cc-b59b-7669-82aa-ea7f455effed', 1, NULL, 1795393631657, 'ccdfc6007d8926a7408e18c0a3b887902b767409823f7719391a2bbcd661aa46', NULL, NULL),
	('01a205cc-6d1e-743b-a0f7-398927c85f42', 3, 'charge', 2, 22, '01a205cc-b75d-73b0-8b1d-c9d402536fb6', 2, NULL, 1795393632103, 'd40737c93115a934974b94b30ac2e8be1266ea864d6f9d48a08acbf21d3c9ad5', NULL, NULL),
	('01a21ed7-43b5-71f3-8655-c0a75a3e2261', 1, 'grant', 40, 40, NULL, NULL, 'opening grant', 1795813753823, '53266806fe1bc17d1fc1cb7a49d0f0d374e684821f212c51152275c8bcae8cf8', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 12, 'grant', 500, 1979, NULL, NULL, 'invoice 2, März “gross”', 1795813764474, '5932346093753f370e40b0c9ef24c176a5d58ac7e4d9893b5498782dac3c761e', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 13, 'correction', 40, 1939, NULL, NULL, 'granted twice', 1795813765418, '67af6ca3affd042d8adfe611c69fa043a0845c0aa40c3916c968efc2f0bfa0ba', NULL, NULL),
	('01a205cc-6d1e-743b-a0f7-398927c85f42', 4, 'grant', 10, 32, NULL, NULL, 'a gift', 1795813768706, '9511d8991a6cc80610cf28d40d33905505ed204dc637866d9752f3e9da4e677f', NULL, NULL),
	('01a21ed7-43b5-71f3-8655-c0a75a3e2261', 2, 'correction', 5, 35, NULL, NULL, 'a mistake', 1795813768749, '19d6c20e7c12744f0ea789cf6bfb8675ad14e12189dc7ca5878b4b0861d36dcc', NULL, NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 14, 'charge', 2, 1937, '01a21ed7-7e48-7544-8416-3f4ead8bffae', 2, NULL, 1795813769024, '424731c3427562dd0b837ce0bf7b5a2d230358844371f96ed6760258a5cedf65', '01a21ed7-465e-720c-b896-23f26af25eee', 1795813768792),
	('01a205cc-674e-7490-903a-478648f68b05', 15, 'charge', 1, 1936, '01a21ed7-7f4c-71ab-a8d6-e8d8d6daad0d', 1, NULL, 1795813769166, 'ef095f61d803a8bc03a728b0642b3452f94a2b52960dbe05e3edeb9cb01bedc1', '01a21ed7-465e-720c-b896-23f26af25eee', NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 16, 'charge', 3, 1933, '01a21ed7-800b-7687-a83f-67253386052e', 3, NULL, 1795813769297, 'e8dacb2b0e4087f8ad8951d82db393b852abbc43f87dc7102e80827bd1a58117', '01a21ed7-465e-720c-b896-23f26af25eee', 1795813769235),
	('01a205cc-674e-7490-903a-478648f68b05', 17, 'charge', 2, 1931, '01a21ed7-8072-73c2-9784-884ad0213a2b', 2, NULL, 1795813769339, '04d3b1ab4a950e6235baeea9289b224359ad33c527a2a65bc1af05cbe026494e', '01a21ed7-465e-720c-b896-23f26af25eee', NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 18, 'charge', 2, 1929, '01a21ed7-80a1-742c-92d2-51bba4f041d1', 2, NULL, 1795813769505, 'b7e04f08be5129e851e4868966179f2e4983fa822b44547ed13c1b015785fa91', '01a21ed7-4a59-741d-9f75-33dc9597daaf', 1795813769398),
	('01a205cc-674e-7490-903a-478648f68b05', 19, 'charge', 3, 1926, '01a21ed7-81c2-72d7-b621-4c495442597c', 3, NULL, 1795813769721, '1694b58e8b172f3deb2b20d54c226bfc936ec6bf48cf2839a6f0592598352b1f', '01a21ed7-4a59-741d-9f75-33dc9597daaf', 1795813769679),
	('01a205cc-674e-7490-903a-478648f68b05', 20, 'charge', 2, 1924, '01a21ed7-8252-74dc-9d67-fae66cba0992', 2, NULL, 1795813769897, '49667876545137467dc7346798289740ab57162a34c455d3ac39993fd6823a40', '01a21ed7-58b5-7384-862b-ad0fe0ad7ec2', 1795813769861),
	('01a205cc-674e-7490-903a-478648f68b05', 21, 'charge', 2, 1922, '01a21ed7-82cf-7464-b60c-74234262ba1d', 2, NULL, 1795813769976, '14163fe60bf25c41f46d390ae3c90e3b31472efe840f288aaabd8e61d180f113', '01a21ed7-558a-7568-9ab6-e3d75acab54a', 1795813769942),
	('01a205cc-674e-7490-903a-478648f68b05', 22, 'charge', 1, 1921, '01a21ed7-8310-72f2-ba89-805af8f0a10b', 1, NULL, 1795813770095, '4c76b6dc9530a3fb7afb9b35685dd9bc5ef55a58e325c28af56912834079b62a', '01a21ed7-5c08-7401-ae96-d6b7f966ec73', 1795813770007),
	('01a205cc-6d1e-743b-a0f7-398927c85f42', 5, 'charge', 2, 30, '01a21ed7-838e-7462-b25c-5ff85799bb29', 2, NULL, 1795813770160, 'c85079829f10a747cc0a05b8deb0957ea43a22dd7cabfe907acc29714d0d5fa2', '01a21ed7-6208-7170-bc30-ab8ccf33761e', 1795813770131),
	('01a21ed7-43b5-71f3-8655-c0a75a3e2261', 3, 'charge', 1, 34, '01a21ed7-83cb-708b-87d9-f8615342afec', 1, NULL, 1795813770198, '9203aa22b53a067d6b0fcc94db634955f920cbead6effce28d92b03e597e2f27', '01a21ed7-65a7-71d3-b007-fae488acacb8', NULL),
	('01a205cc-674e-7490-903a-478648f68b05', 23, 'charge', 1, 1920, '01a21ed7-88ac-7126-8f24-b19b10fca305', 1, NULL, 1795813771463, 'eda0f1cc66bb11e4a78b9b77d01433e1c3c040fec89f7baeb73562cd62add184', '01a21ed7-465e-720c-b896-23f26af25eee', 1795813771439);

INSERT INTO figures VALUES
	('moz', 'example.net/', 27, 72, 22, 1795813769019, NULL, NULL, NULL),
	('moz', 'example.com/a?b=c&d', 65, 44, 38, 1795813769283, NULL, NULL, NULL),
	('moz', 'www.wikipedia.org/wiki/Domain', 22, 5, 82, 1795813769283, NULL, NULL, NULL),
	('moz', 'example.org/', 30, 7, 33, 1795813769497, NULL, NULL, NULL),
	('moz', 'example.org/b', 100, 39, 50, 1795813769497, NULL, NULL, NULL),
	('moz', 'xn--bcher-kva.de/', 67, 14, 13, 1795813769715, NULL, NULL, NULL),
	('moz', 'xn--r8jz45g.jp/%E3%83%91%E3%82%B9?q=%C3%A9', 73, 94, 40, 1795813769715, NULL, NULL, NULL),
	('moz', 'www.iana.org/', 54, 56, 48, 1795813769888, NULL, NULL, NULL),
	('moz', 'www.ietf.org/', 65, 11, 32, 1795813769972, NULL, NULL, NULL),
	('moz', 'www.rfc-editor.org/', 26, 9, 56, 1795813769972, NULL, NULL, NULL),
	('moz', 'www.w3.org/', 54, 19, 5, 1795813770043, NULL, NULL, NULL),
	('moz', 'example.com/c', 88, 76, 77, 1795813770155, NULL, NULL, NULL),
	('moz', 'www.iso.org/', 1, 12, 3, 1795813770155, NULL, NULL, NULL),
	('moz', 'example.com/', 54, 77, 35, 1795813771459, NULL, NULL, NULL);

INSERT INTO holds VALUES
	('01a21ed7-9adc-705c-8e0c-bc5fc325aafe', '01a205cc-674e-7490-903a-478648f68b05', 2, 1795813836108, '01a21ed7-98c6-73f2-8004-7d0f09b85981', '01a21ed7-558a-7568-9ab6-e3d75acab54a', 1795813776108),
	('01a21ed7-9ae5-71c2-a5e2-db38c5d1dc76', '01a205cc-6d1e-743b-a0f7-398927c85f42', 1, 1795813836108, '01a21ed7-98c6-73f2-8004-7d0f09b85981', '01a21ed7-8ff1-72c2-92c8-e728d9818e1b', 1795813776108);

INSERT INTO observations VALUES
	('example.com/', 'moz', 1795813769019, 1795813769019, NULL, 54, 94, 35, 0, 1795813769019);

INSERT INTO processes VALUES
	('01a21ed7-98c6-73f2-8004-7d0f09b85981', 2);

INSERT INTO purchase_days VALUES
	('moz', 20784, 12, 22, 15, 75000, 1, 3);

INSERT INTO purchases VALUES
	('01a21ed7-7e6f-7668-9da6-fb9ecd307187', 'moz', 1795813768820, 2, 'failed', 0, 0, 0),
	('01a21ed7-7f2a-73b6-983f-889b1a673bc7', 'moz', 1795813769004, 2, 'answered', 2, 10000, 0),
	('01a21ed7-8028-711b-9f6a-96934f0fdecb', 'moz', 1795813769264, 2, 'answered', 2, 10000, 0),
	('01a21ed7-8108-7316-9a95-ff64244f6ef7', 'moz', 1795813769482, 3, 'answered', 2, 10000, 0),
	('01a21ed7-815e-7625-a19a-76e2621f85d5', 'moz', 1795813769615, 1, 'answered', 0, 0, 0),
	('01a21ed7-81e0-72fd-af2b-301a4f3ddb97', 'moz', 1795813769707, 2, 'answered', 2, 10000, 0),
	('01a21ed7-8299-7136-8729-adb2c2e43381', 'moz', 1795813769882, 1, 'answered', 1, 5000, 0),
	('01a21ed7-82ec-7580-8f76-69455be4ffeb', 'moz', 1795813769965, 2, 'answered', 2, 10000, 0),
	('01a21ed7-832f-70f2-a2a4-dc589710d6a1', 'moz', 1795813770033, 1, 'answered', 1, 5000, 0),
	('01a21ed7-83a1-7256-b199-d3505b4a03f8', 'moz', 1795813770147, 2, 'answered', 2, 10000, 0),
	('01a21ed7-88ba-7162-841a-41b7c7fdb7c7', 'moz', 1795813771453, 1, 'answered', 1, 5000, 0),
	('01a21ed7-9b10-7251-8388-4a7e76c5d9f3', 'moz', 1795813776147, 3, 'unknown', NULL, NULL, NULL);

INSERT INTO ranking VALUES
	(1, 0, NULL, NULL, NULL);

INSERT INTO ranks_0 VALUES
	('google.com', 1),
	('wikipedia.org', 7),
	('example.com', 123);

INSERT INTO receipts VALUES
	('01a205cc-674e-7490-903a-478648f68b05', 'order-1', 'c3c82cd0cb9eeacec41e548d9a81c6f972b3468ec1db6be0740ab8444549608d', '01a205cc-b5b9-7234-88c1-a1af40938f2c', '{"creditsUsed":1,"outcomes":[[50,29,4]]}', 1795900152633),
	('01a205cc-674e-7490-903a-478648f68b05', 'order-2', 'f2ec9534cc03b2bc712b6ef8af42b48831d6ee4eae6aca51510cfd5706d859f4', '01a205cc-b5f0-724e-a804-985320074f5c', '{"creditsUsed":3,"outcomes":[[16,18,88],[50,71,4],[50,29,4]]}', 1795900152633),
	('01a205cc-674e-7490-903a-478648f68b05', 'in quotes, with "quotes" and \', '5e49e44e1b805f1fa9aa50499c1ac9abbffddedd892bfa82920f76ea2f1aaf73', '01a205cc-b627-7060-bc63-5833fcee9b5a', '{"creditsUsed":2,"outcomes":[[50,29,4],[50,29,4]]}', 1795900152633),
	('01a205cc-674e-7490-903a-478648f68b05', 'some-fail', 'f4c58af9ab617b57e478fff4312badad6e264c0b4005bf6cff45b07c655d5890', '01a205cc-b660-758f-967d-0ab7d04854ac', '{"creditsUsed":3,"outcomes":["INVALID_URL",[68,55,50],"PROVIDER_ERROR","INVALID_URL","SERVER_ERROR",[50,42],[68,55,50],"INVALID_URL"]}', 1795900152633),
	('01a205cc-674e-7490-903a-478648f68b05', 'none-succeeds', '9723985d3f74d777b5e72e21e8c6ceb8db2207bdc7c96d5131f1b33d88a09062', '01a205cc-b696-74bf-a6b0-56a7cbb9b86b', '{"creditsUsed":0,"outcomes":["PROVIDER_ERROR","SERVER_ERROR","INVALID_URL"]}', 1795900152633),
	('01a205cc-674e-7490-903a-478648f68b05', 'only-invalid', '677844543ad2a674dc7675a4a0e2e3a18e147f39c9e1e7806169ec40ec2f8caf', '01a205cc-b6ba-70e0-bfc7-0ec04e503e8b', '{"creditsUsed":0,"outcomes":["INVALID_URL","INVALID_URL","INVALID_URL"]}', 1795900152633),
	('01a205cc-674e-7490-903a-478648f68b05', 'not-ascii', 'd74978581fdb540e2504d17d122a43dce0e5764715af1a92cd734df85df8f00b', '01a205cc-b6de-7046-97d7-0ea9c9766a09', '{"creditsUsed":5,"outcomes":[[100,80,36],[50,68,64],[50,47,4],[50,67,4],[50,2,4],"INVALID_URL"]}', 1795900152633),
	('01a205cc-674e-7490-903a-478648f68b05', '8e03978e-40d5-43dd-bc93-6894a57f9324', 'eb69d768c1c0f46e92172cd556acffde44231564562118bf689d675fcbc5d163', '01a205cc-b72f-75b3-81ff-621a4bba75fa', '{"creditsUsed":1,"outcomes":[[50,37]]}', 1795900152633),
	('01a205cc-6d1e-743b-a0f7-398927c85f42', 'order-1', 'f205e9cb0ae95956986d99fde876b28954799c23083c9d5431ba0f4c5c4f4d60', '01a205cc-b75d-73b0-8b1d-c9d402536fb6', '{"creditsUsed":2,"outcomes":[[87,41,66],[88,4,27]]}', 1795900152633),
	('01a205cc-674e-7490-903a-478648f68b05', 'fractions', '5ac9361f07d4f7d085cef8567651e97b44737533f0c8b17ae01401277183faea', '01a205cc-c2fa-7186-b113-d1c4c0c32961', '{"creditsUsed":2,"outcomes":[[89.44,89.44],[73.88,73.88],"PROVIDER_ERROR"]}', 1795900152633),
	('01a205cc-674e-7490-903a-478648f68b05', 'invoice-1', 'c3c82cd0cb9eeacec41e548d9a81c6f972b3468ec1db6be0740ab8444549608d', '01a21ed7-7f4c-71ab-a8d6-e8d8d6daad0d', '{"creditsUsed":1,"outcomes":[[54,94,35]]}', 1795900169166),
	('01a205cc-674e-7490-903a-478648f68b05', 'invoice-2', 'f2ec9534cc03b2bc712b6ef8af42b48831d6ee4eae6aca51510cfd5706d859f4', '01a21ed7-800b-7687-a83f-67253386052e', '{"creditsUsed":3,"outcomes":[[22,5,82],[65,44,38],[54,94,35]]}', 1795900169297),
	('01a205cc-674e-7490-903a-478648f68b05', 'in quotes, with "more" and \', '9c36e627ba1537b2c1c4d291fd6f12627e845e37336dfe89d01bfc6f6463817a', '01a21ed7-8072-73c2-9784-884ad0213a2b', '{"creditsUsed":2,"outcomes":[[54,94,35],[54,94,35]]}', 1795900169339),
	('01a205cc-674e-7490-903a-478648f68b05', 'a-failure', '0dde26927037a19cb0011bf70f9272e511635a9cb835385bcb564cbc9073fc9e', '01a21ed7-80a1-742c-92d2-51bba4f041d1', '{"creditsUsed":2,"outcomes":["INVALID_URL",[30,7,33],"PROVIDER_ERROR",[100,39,50]]}', 1795900169505),
	('01a205cc-674e-7490-903a-478648f68b05', 'only-failures', '6f896b95af954c3a4c4d1d37215a14b6941f1f4895d9652da4e907e994a838de', '01a21ed7-813e-7280-87a7-c6291e0ee4aa', '{"creditsUsed":0,"outcomes":["PROVIDER_ERROR","PROVIDER_ERROR"]}', 1795900169645),
	('01a205cc-674e-7490-903a-478648f68b05', 'non-ascii', '9e8a272d7552ba0c37458108eed16fbf25bf822a950997305522bd1dced9b58f', '01a21ed7-81c2-72d7-b621-4c495442597c', '{"creditsUsed":3,"outcomes":[[67,14,13],[73,94,40],[67,14,13]]}', 1795900169721),
	('01a205cc-674e-7490-903a-478648f68b05', 'with-provenance', '4dec946230f630b79b0f26857ff6e3140976933c8b0ca9b953a9d249245c6fa9', '01a21ed7-8252-74dc-9d67-fae66cba0992', '{"creditsUsed":2,"outcomes":[[54,94,35],"PROVIDER_ERROR",[54,56,48]],"sources":[{"provider":"moz","source":"known","fetchedAt":"2026-11-27T21:09:29.019Z","ageSeconds":0,"index":null},{"cause":"unknown","detail":"Moz does not know the page (error -32655)."},{"provider":"moz","source":"bought","fetchedAt":"2026-11-27T21:09:29.888Z","ageSeconds":0,"index":null}]}', 1795900169897),
	('01a205cc-674e-7490-903a-478648f68b05', 'of-a-budget', 'efbdcee633d0c1fd6ebee931c3fbcc6938d52764d6e19a1c9d17ba44d7d7d685', '01a21ed7-82cf-7464-b60c-74234262ba1d', '{"creditsUsed":2,"outcomes":[[65,11,32],[26,9,56]]}', 1795900169976),
	('01a205cc-674e-7490-903a-478648f68b05', '0c5e7d0f-3f0c-4b43-9a55-0a4f0e0c7d52', '009500429c1efe0018a99d529c5afb129ef9aaf37e5debaf675fa7dbf8fe7161', '01a21ed7-8310-72f2-ba89-805af8f0a10b', '{"creditsUsed":1,"outcomes":[[54,19,5]]}', 1795900170095),
	('01a205cc-6d1e-743b-a0f7-398927c85f42', 'invoice-1', '5554c236e5e11f6b2fe7613024bc689683300ddd3fcf1f3c5aeef99a7c6b29c7', '01a21ed7-838e-7462-b25c-5ff85799bb29', '{"creditsUsed":2,"outcomes":[[1,12,3],[88,76,77]]}', 1795900170160),
	('01a205cc-674e-7490-903a-478648f68b05', 'left-open', '08c885e0d2be5cbe3004742c6f0ebf36f318552c14a39d0cd73d6d1a4ccb7604', '01a21ed7-9adc-705c-8e0c-bc5fc325aafe', NULL, 1795813836108);

INSERT INTO usage VALUES
	('01a205cc-674e-7490-903a-478648f68b05', 20784, '01a21ed7-4a59-741d-9f75-33dc9597daaf', 5, 5, 0, 1, 3, 0),
	('01a205cc-674e-7490-903a-478648f68b05', 20784, '01a21ed7-58b5-7384-862b-ad0fe0ad7ec2', 2, 2, 1, 0, 1, 0),
	('01a205cc-674e-7490-903a-478648f68b05', 20784, '01a21ed7-558a-7568-9ab6-e3d75acab54a', 2, 2, 0, 0, 0, 0),
	('01a205cc-674e-7490-903a-478648f68b05', 20784, '01a21ed7-5c08-7401-ae96-d6b7f966ec73', 1, 1, 0, 0, 0, 0),
	('01a205cc-6d1e-743b-a0f7-398927c85f42', 20784, '01a21ed7-6208-7170-bc30-ab8ccf33761e', 2, 2, 0, 0, 0, 0),
	('01a21ed7-43b5-71f3-8655-c0a75a3e2261', 20784, '01a21ed7-65a7-71d3-b007-fae488acacb8', 1, 1, 1, 1, 0, 0),
	('01a205cc-674e-7490-903a-478648f68b05', 20784, '01a21ed7-465e-720c-b896-23f26af25eee', 9, 9, 4, 0, 0, 0);

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
