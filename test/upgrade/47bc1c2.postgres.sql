-- A database that version 47bc1c2 wrote on PostgreSQL 18, for Upgrade.test.ts. 47bc1c2.json has its API
-- keys, and the requests and answers of its stored answers. The program ran with the provider
-- sandbox, and once with dataset, for fractions. A kill -9 in mid request left the two holds.

CREATE TABLE effect_sql_migrations (
  migration_id integer primary key,
  created_at timestamp with time zone not null default now(),
  name text not null
);

CREATE TABLE accounts (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);

CREATE TABLE api_keys (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  label TEXT,
  hash TEXT NOT NULL UNIQUE,
  start TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  lifetime_ms BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT
);

CREATE TABLE balances (
  account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
  granted BIGINT NOT NULL,
  charged BIGINT NOT NULL,
  held BIGINT NOT NULL,
  entries BIGINT NOT NULL,
  head TEXT NOT NULL,
  CHECK (charged >= 0 AND held >= 0 AND charged + held <= granted)
);

CREATE TABLE holds (
  request_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  amount BIGINT NOT NULL CHECK (amount > 0),
  expires_at BIGINT NOT NULL
);

CREATE TABLE entries (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  sequence BIGINT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('grant', 'charge')),
  amount BIGINT NOT NULL CHECK (amount > 0),
  balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
  request_id TEXT UNIQUE,
  urls BIGINT,
  note TEXT,
  at BIGINT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (account_id, sequence)
);

CREATE TABLE receipts (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  request_id TEXT NOT NULL,
  body TEXT,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, key)
);

CREATE TABLE figures (
  provider TEXT NOT NULL,
  page TEXT NOT NULL,
  domain_authority DOUBLE PRECISION NOT NULL,
  page_authority DOUBLE PRECISION NOT NULL,
  spam_score DOUBLE PRECISION,
  fetched_at BIGINT NOT NULL,
  PRIMARY KEY (provider, page)
);

CREATE TABLE ranks_0 (
  name TEXT NOT NULL PRIMARY KEY,
  rank BIGINT NOT NULL
);

CREATE TABLE ranks_1 (
  name TEXT NOT NULL PRIMARY KEY,
  rank BIGINT NOT NULL
);

CREATE TABLE ranking (
  id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  list BIGINT CHECK (list IN (0, 1)),
  importing BIGINT
);

CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at);
CREATE INDEX receipts_by_expiry ON receipts (expires_at);
CREATE INDEX holds_by_expiry ON holds (expires_at);
CREATE INDEX figures_by_age ON figures (fetched_at);

INSERT INTO effect_sql_migrations (migration_id, created_at, name) VALUES
  (1, '2026-11-23 00:26:51.420561+00', 'accounts_keys_ledger'),
  (2, '2026-11-23 00:26:51.420561+00', 'receipts'),
  (3, '2026-11-23 00:26:51.420561+00', 'figures'),
  (4, '2026-11-23 00:26:51.420561+00', 'rankings');

INSERT INTO accounts (id, name, created_at) VALUES
  ('01a205cc-674e-7490-903a-478648f68b05', 'acme', 1795393611601),
  ('01a205cc-6d1e-743b-a0f7-398927c85f42', 'globex', 1795393613088),
  ('01a205cc-72d4-75a8-ad36-f78aede1f995', 'initech', 1795393614550);

INSERT INTO api_keys (id, account_id, label, hash, start, created_at, expires_at, lifetime_ms, revoked_at, last_used_at) VALUES
  ('01a205cc-7f83-73ec-b2ea-45d2eda18ac1', '01a205cc-674e-7490-903a-478648f68b05', 'shop', '033b0badd017cc6b6a093004735f415f198a40f9bc9d7155c1217702c5df0431', 'am_FVOAYi', 1795393617793, NULL, NULL, NULL, 1795393635074),
  ('01a205cc-8590-7035-a3e3-aaba24d64182', '01a205cc-674e-7490-903a-478648f68b05', 'búsqueda', 'e5236a2e004ce16d97929124aabc8bd6468a4ed565cc5e994a0aeb72eb6bdca5', 'am_XEx3lD', 1795393619342, 2110753619342, 315360000000, NULL, 1795393631603),
  ('01a205cc-8b0d-7394-85dc-01ec16321f89', '01a205cc-674e-7490-903a-478648f68b05', NULL, '865d01d2a371cc8a99465d915faa9fcdeb429e0dd1a79b1d9feb8f32113c44c2', 'am_O0gkba', 1795393620747, 1795393621747, 1000, NULL, NULL),
  ('01a205cc-90d3-7493-901f-61a562243e71', '01a205cc-674e-7490-903a-478648f68b05', NULL, '1e340dd47854a83ea793e2dde5134cbe76edf2e9a4ec08119f19ac77769f3dfc', 'am_3nMuuU', 1795393622225, NULL, NULL, 1795393623665, NULL),
  ('01a205cc-9bfa-77ea-a196-8432bd1197a0', '01a205cc-6d1e-743b-a0f7-398927c85f42', 'crawler', 'fbcd70b2d6f68cdcbf947e02e65e0bb61117fb9ae1b1014e7dca34478515c099', 'am_pKWL9X', 1795393625081, 1795393627474, NULL, NULL, NULL),
  ('01a205cc-a172-740a-8323-839e97cc0dcf', '01a205cc-6d1e-743b-a0f7-398927c85f42', 'crawler', '1c2d37154450eb858073fd9774291f38299f8a46f2d968b55828142ebc439ffa', 'am_Wn2Tth', 1795393626474, NULL, NULL, NULL, 1795393631645),
  ('01a205cc-a704-7707-bf7d-8fa4170f686d', '01a205cc-72d4-75a8-ad36-f78aede1f995', NULL, '05414224e879888ab565b3f255f57dbd2f46c6a64c7fdb6fa97c489fe88b8e2e', 'am_jRsAhP', 1795393627907, NULL, NULL, NULL, NULL);

INSERT INTO balances (account_id, granted, charged, held, entries, head) VALUES
  ('01a205cc-674e-7490-903a-478648f68b05', 1500, 21, 2, 11, '98d1913cbc7b23cd5faee099caa9c4cef0fcb0cbb88fd277d2c0faef2dc7191a'),
  ('01a205cc-6d1e-743b-a0f7-398927c85f42', 25, 3, 1, 3, 'd40737c93115a934974b94b30ac2e8be1266ea864d6f9d48a08acbf21d3c9ad5'),
  ('01a205cc-72d4-75a8-ad36-f78aede1f995', 0, 0, 0, 0, '');

INSERT INTO holds (request_id, account_id, amount, expires_at) VALUES
  ('01a205cc-cdbf-75d4-a736-d49efd4bfad3', '01a205cc-674e-7490-903a-478648f68b05', 2, 1795393697847),
  ('01a205cc-cdc1-7022-a735-64412222fbe8', '01a205cc-6d1e-743b-a0f7-398927c85f42', 1, 1795393697838);

INSERT INTO entries (account_id, sequence, kind, amount, balance_after, request_id, urls, note, at, hash) VALUES
  ('01a205cc-674e-7490-903a-478648f68b05', 1, 'grant', 1000, 1000, NULL, NULL, 'opening grant', 1795393611612, '3cfdff4c1e6e5f4309d8f4090357094b226d8537bce50ab1e7f7c1f7b44031b5'),
  ('01a205cc-674e-7490-903a-478648f68b05', 2, 'grant', 500, 1500, NULL, NULL, 'invoice 2, März “gross”', 1795393616276, '93c3cac0bd4f0e6cc221ddbcef82dde81e5eab2230256e7c291647a6237903b9'),
  ('01a205cc-674e-7490-903a-478648f68b05', 3, 'charge', 2, 1498, '01a205cc-b534-73f6-9bcd-7ffd4fefa6b0', 2, NULL, 1795393631574, '3ad64165c40407e61134ecd89ea604aba38d495696deb7dbfc087d091bd5d90f'),
  ('01a205cc-674e-7490-903a-478648f68b05', 4, 'charge', 2, 1496, '01a205cc-b56f-736d-be3c-4df816226ed4', 2, NULL, 1795393631626, 'f5c432e59d1f46428b4e4f247ec2edabd219fb9149773274d43723bfb9368038'),
  ('01a205cc-674e-7490-903a-478648f68b05', 5, 'charge', 1, 1495, '01a205cc-b5b9-7234-88c1-a1af40938f2c', 1, NULL, 1795393631694, '53e972f1150eb3ebd3666066eb272785b3df0b25ea343aeb2eb0e8868f8caf57'),
  ('01a205cc-674e-7490-903a-478648f68b05', 6, 'charge', 3, 1492, '01a205cc-b5f0-724e-a804-985320074f5c', 3, NULL, 1795393631748, 'fa5a41ff2d4a900340788035c0b805cd8bedc28f63364df83d28a2163ef357be'),
  ('01a205cc-674e-7490-903a-478648f68b05', 7, 'charge', 2, 1490, '01a205cc-b627-7060-bc63-5833fcee9b5a', 2, NULL, 1795393631814, 'cd14448f912297aadb5076c31b843fa4f056a1c4160dfd527d08ffe733be5907'),
  ('01a205cc-674e-7490-903a-478648f68b05', 8, 'charge', 3, 1487, '01a205cc-b660-758f-967d-0ab7d04854ac', 3, NULL, 1795393631861, '6ec523ffbc83fad1b635db362e3ee2b71e29c5e4e1c9fb5d695cba416a0666ab'),
  ('01a205cc-674e-7490-903a-478648f68b05', 9, 'charge', 5, 1482, '01a205cc-b6de-7046-97d7-0ea9c9766a09', 5, NULL, 1795393632008, '3fed81ca33834b4d41e1f68d9d4206fe446d83a59a69aeabb3ce6a18727210e1'),
  ('01a205cc-674e-7490-903a-478648f68b05', 10, 'charge', 1, 1481, '01a205cc-b72f-75b3-81ff-621a4bba75fa', 1, NULL, 1795393632069, 'fca16c5596f1df39f5f19fd23d6bdc3c26fb74fe911fde507ae887aa64fb837b'),
  ('01a205cc-674e-7490-903a-478648f68b05', 11, 'charge', 2, 1479, '01a205cc-c2fa-7186-b113-d1c4c0c32961', 2, NULL, 1795393635114, '98d1913cbc7b23cd5faee099caa9c4cef0fcb0cbb88fd277d2c0faef2dc7191a'),
  ('01a205cc-6d1e-743b-a0f7-398927c85f42', 1, 'grant', 25, 25, NULL, NULL, 'opening grant', 1795393613098, '6e95295eed0ed2c6a823b25cb26cd2c11d738da29d7e7bfd72f18ac464e31dff'),
  ('01a205cc-6d1e-743b-a0f7-398927c85f42', 2, 'charge', 1, 24, '01a205cc-b59b-7669-82aa-ea7f455effed', 1, NULL, 1795393631657, 'ccdfc6007d8926a7408e18c0a3b887902b767409823f7719391a2bbcd661aa46'),
  ('01a205cc-6d1e-743b-a0f7-398927c85f42', 3, 'charge', 2, 22, '01a205cc-b75d-73b0-8b1d-c9d402536fb6', 2, NULL, 1795393632103, 'd40737c93115a934974b94b30ac2e8be1266ea864d6f9d48a08acbf21d3c9ad5');

INSERT INTO receipts (account_id, key, fingerprint, request_id, body, expires_at) VALUES
  ('01a205cc-674e-7490-903a-478648f68b05', 'order-1', 'c3c82cd0cb9eeacec41e548d9a81c6f972b3468ec1db6be0740ab8444549608d', '01a205cc-b5b9-7234-88c1-a1af40938f2c', '{"creditsUsed":1,"outcomes":[[50,29,4]]}', 1795480031694),
  ('01a205cc-674e-7490-903a-478648f68b05', 'order-2', 'f2ec9534cc03b2bc712b6ef8af42b48831d6ee4eae6aca51510cfd5706d859f4', '01a205cc-b5f0-724e-a804-985320074f5c', '{"creditsUsed":3,"outcomes":[[16,18,88],[50,71,4],[50,29,4]]}', 1795480031748),
  ('01a205cc-674e-7490-903a-478648f68b05', 'in quotes, with "quotes" and \', '5e49e44e1b805f1fa9aa50499c1ac9abbffddedd892bfa82920f76ea2f1aaf73', '01a205cc-b627-7060-bc63-5833fcee9b5a', '{"creditsUsed":2,"outcomes":[[50,29,4],[50,29,4]]}', 1795480031814),
  ('01a205cc-674e-7490-903a-478648f68b05', 'some-fail', 'f4c58af9ab617b57e478fff4312badad6e264c0b4005bf6cff45b07c655d5890', '01a205cc-b660-758f-967d-0ab7d04854ac', '{"creditsUsed":3,"outcomes":["INVALID_URL",[68,55,50],"PROVIDER_ERROR","INVALID_URL","SERVER_ERROR",[50,42],[68,55,50],"INVALID_URL"]}', 1795480031861),
  ('01a205cc-674e-7490-903a-478648f68b05', 'none-succeeds', '9723985d3f74d777b5e72e21e8c6ceb8db2207bdc7c96d5131f1b33d88a09062', '01a205cc-b696-74bf-a6b0-56a7cbb9b86b', '{"creditsUsed":0,"outcomes":["PROVIDER_ERROR","SERVER_ERROR","INVALID_URL"]}', 1795480031909),
  ('01a205cc-674e-7490-903a-478648f68b05', 'only-invalid', '677844543ad2a674dc7675a4a0e2e3a18e147f39c9e1e7806169ec40ec2f8caf', '01a205cc-b6ba-70e0-bfc7-0ec04e503e8b', '{"creditsUsed":0,"outcomes":["INVALID_URL","INVALID_URL","INVALID_URL"]}', 1795480031939),
  ('01a205cc-674e-7490-903a-478648f68b05', 'not-ascii', 'd74978581fdb540e2504d17d122a43dce0e5764715af1a92cd734df85df8f00b', '01a205cc-b6de-7046-97d7-0ea9c9766a09', '{"creditsUsed":5,"outcomes":[[100,80,36],[50,68,64],[50,47,4],[50,67,4],[50,2,4],"INVALID_URL"]}', 1795480032008),
  ('01a205cc-674e-7490-903a-478648f68b05', '8e03978e-40d5-43dd-bc93-6894a57f9324', 'eb69d768c1c0f46e92172cd556acffde44231564562118bf689d675fcbc5d163', '01a205cc-b72f-75b3-81ff-621a4bba75fa', '{"creditsUsed":1,"outcomes":[[50,37]]}', 1795480032069),
  ('01a205cc-6d1e-743b-a0f7-398927c85f42', 'order-1', 'f205e9cb0ae95956986d99fde876b28954799c23083c9d5431ba0f4c5c4f4d60', '01a205cc-b75d-73b0-8b1d-c9d402536fb6', '{"creditsUsed":2,"outcomes":[[87,41,66],[88,4,27]]}', 1795480032103),
  ('01a205cc-674e-7490-903a-478648f68b05', 'fractions', '5ac9361f07d4f7d085cef8567651e97b44737533f0c8b17ae01401277183faea', '01a205cc-c2fa-7186-b113-d1c4c0c32961', '{"creditsUsed":2,"outcomes":[[89.44,89.44],[73.88,73.88],"PROVIDER_ERROR"]}', 1795480035114),
  ('01a205cc-674e-7490-903a-478648f68b05', 'abandoned', 'c95d71d429d3cd4913cfeae2c4c908004a77a6b6dfa91bae50aec890db43aae7', '01a205cc-cdbf-75d4-a736-d49efd4bfad3', NULL, 1795393697830);

INSERT INTO ranks_0 (name, rank) VALUES
  ('google.com', 1),
  ('wikipedia.org', 7),
  ('example.com', 123);

INSERT INTO ranking (id, list, importing) VALUES
  (1, 0, NULL);
