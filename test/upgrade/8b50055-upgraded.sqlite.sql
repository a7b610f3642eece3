-- A database of schema 16 that version 8b50055 wrote on SQLite, for Upgrade.test.ts.
-- The database was 47bc1c2.sqlite.sql, which was migrated and used.
-- 8b50055-upgraded.json has its API keys, and the requests and answers of its stored answers. The
-- program ran with a fake of Moz. A kill -9 in mid request left the two holds.

PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS "effect_sql_migrations" (
  migration_id integer PRIMARY KEY NOT NULL,
  created_at datetime NOT NULL DEFAULT current_timestamp,
  name VARCHAR(255) NOT NULL
);
INSERT INTO effect_sql_migrations VALUES(1,'2026-11-23 00:26:14','accounts_keys_ledger');
INSERT INTO effect_sql_migrations VALUES(2,'2026-11-23 00:26:14','receipts');
INSERT INTO effect_sql_migrations VALUES(3,'2026-11-23 00:26:14','figures');
INSERT INTO effect_sql_migrations VALUES(4,'2026-11-23 00:26:14','rankings');
INSERT INTO effect_sql_migrations VALUES(5,'2026-11-27 21:08:35','processes');
INSERT INTO effect_sql_migrations VALUES(6,'2026-11-27 21:08:35','origins');
INSERT INTO effect_sql_migrations VALUES(7,'2026-11-27 21:08:35','imports');
INSERT INTO effect_sql_migrations VALUES(8,'2026-11-27 21:08:35','observations');
INSERT INTO effect_sql_migrations VALUES(9,'2026-11-27 21:08:35','budgets');
INSERT INTO effect_sql_migrations VALUES(10,'2026-11-27 21:08:35','scopes');
INSERT INTO effect_sql_migrations VALUES(11,'2026-11-27 21:08:35','audit_log');
INSERT INTO effect_sql_migrations VALUES(12,'2026-11-27 21:08:35','usage');
INSERT INTO effect_sql_migrations VALUES(13,'2026-11-27 21:08:35','purchases');
INSERT INTO effect_sql_migrations VALUES(15,'2026-11-27 21:08:35','vendor_readings');
INSERT INTO effect_sql_migrations VALUES(16,'2026-11-27 21:08:35','claims');
CREATE TABLE accounts (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
, suspended_at BIGINT);
INSERT INTO accounts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','acme',1795393575014,NULL);
INSERT INTO accounts VALUES('01a205cb-ddd3-71a6-9b54-39d3b67a43f4','globex',1795393576407,NULL);
INSERT INTO accounts VALUES('01a205cb-e359-71f0-bd7a-da03794adc35','initech',1795393577821,NULL);
INSERT INTO accounts VALUES('01a21ed6-b240-713e-aa83-24bdb982d98d','hooli',1795813716546,1795813737675);
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
, budget_id TEXT REFERENCES budgets (id), scopes TEXT NOT NULL DEFAULT 'check,read');
INSERT INTO api_keys VALUES('01a205cb-ede5-7611-a02b-e8ac50ab8ef5','01a205cb-d864-7555-a3ff-8be7708efbf7','shop','d8a09b07e674b548f1ad4894196ff485cfd632e6034d7f2f36cf766549258dc5','am_u0baX7',1795393580516,NULL,NULL,NULL,1795393598222,NULL,'check,read');
INSERT INTO api_keys VALUES('01a205cb-f40f-766c-91d5-089178aaa3d7','01a205cb-d864-7555-a3ff-8be7708efbf7','búsqueda','a94e8ba1c1f8f934d8ef3c697fff68b78bde2ad06a1b33ab9e305b0fca0dc1a1','am_VyZJym',1795393582093,2110753582093,315360000000,NULL,1795393595049,NULL,'check,read');
INSERT INTO api_keys VALUES('01a205cb-f9be-70df-9fee-ee258f4e206d','01a205cb-d864-7555-a3ff-8be7708efbf7',NULL,'9cd454c2325137b23e5bfcccc19bdfae48688c46b0f84d4a329ca546d5011254','am_pBimBD',1795393583549,1795393584549,1000,NULL,NULL,NULL,'check,read');
INSERT INTO api_keys VALUES('01a205cb-ff94-7304-8c83-874f88fe316c','01a205cb-d864-7555-a3ff-8be7708efbf7',NULL,'43dd287a4f56b7462a3bd0e279ba0365fa1ebc48b66bfd2dff42c16c4857d9f0','am_4lRVzF',1795393585042,NULL,NULL,1795393586569,NULL,NULL,'check,read');
INSERT INTO api_keys VALUES('01a205cc-0c3c-7288-b48a-cd4312e363d6','01a205cb-ddd3-71a6-9b54-39d3b67a43f4','crawler','4d5d2e10a7739e4602e63c9edddfc77562cdd7be771608484148cf210045a569','am_517qlR',1795393588283,1795393590717,NULL,NULL,NULL,NULL,'check,read');
INSERT INTO api_keys VALUES('01a205cc-11db-758c-859f-a94c3812116c','01a205cb-ddd3-71a6-9b54-39d3b67a43f4','crawler','55847513821df8c2ab52fccf53a59c226c0fe33acf0cf901d553b3d3efa2e208','am_IHDsS1',1795393589717,NULL,NULL,NULL,1795393595075,NULL,'check,read');
INSERT INTO api_keys VALUES('01a205cc-177b-777e-b5e8-98d1a474e35a','01a205cb-e359-71f0-bd7a-da03794adc35',NULL,'bc786efdc9606c5399cb757359df7d7c7d4a22dffeebfc0a8a05f33d923d644f','am_Nzo1pH',1795393591161,NULL,NULL,NULL,NULL,NULL,'check,read');
INSERT INTO api_keys VALUES('01a21ed6-b51a-715a-93ad-8341eb3d741b','01a205cb-d864-7555-a3ff-8be7708efbf7','shop','b045e7477ac451723ba6d864806d7203f44036a4e6b6d3675dcd585baae02e0a','am_ycAjrf',1795813717272,NULL,NULL,NULL,1795813730642,NULL,'check,read');
INSERT INTO api_keys VALUES('01a21ed6-b77b-72c6-8def-779b7fb48471','01a205cb-d864-7555-a3ff-8be7708efbf7','búsqueda','fe7555c7ae637e97f4e4dc7d03de2c60dadaf8ad400c4c1a35cfa1ecb34df41d','am_rGDfjP',1795813717882,2111173717882,315360000000,NULL,1795813731151,NULL,'check,read');
INSERT INTO api_keys VALUES('01a21ed6-bbc6-7770-9712-1e6f5b1bac14','01a205cb-d864-7555-a3ff-8be7708efbf7',NULL,'dbeb73088268c9e7bf417419330eefbcf5bd2d81725a6ca1e0b1e10975cebf03','am_khTqkD',1795813718981,1795813719981,1000,NULL,NULL,NULL,'check,read');
INSERT INTO api_keys VALUES('01a21ed6-be55-7789-b30a-97ea31fcf890','01a205cb-d864-7555-a3ff-8be7708efbf7',NULL,'382aa30be6a50f2fc945173c445b859e423b1d52c6253ceaa17193c0d4e3cebf','am_cdZ9Ir',1795813719636,NULL,NULL,1795813736731,NULL,NULL,'check');
INSERT INTO api_keys VALUES('01a21ed6-c0e2-73bd-b230-7e25e3b09d8a','01a205cb-d864-7555-a3ff-8be7708efbf7','interns','e8f9df4fcba46f5ff68d38eed80f701fc5642a10f9ded033e046f9afa694e67b','am_HGVIyI',1795813720289,NULL,NULL,NULL,1795813731494,'01a21ed6-c0f3-70a2-b13a-d0ce1c33a3da','check,read');
INSERT INTO api_keys VALUES('01a21ed6-c3a0-74a9-aed2-f35773f76119','01a205cb-d864-7555-a3ff-8be7708efbf7',NULL,'25193dc61e9603ee2e1f00658dcd6efc53821c4e5eafff726babb02f23af426b','am_jVox5Y',1795813720990,NULL,NULL,NULL,1795813731396,'01a21ed6-c3a8-75b7-ac9d-2c2fb16426a6','check,read');
INSERT INTO api_keys VALUES('01a21ed6-c722-75b1-a753-f824abd30459','01a205cb-d864-7555-a3ff-8be7708efbf7',NULL,'14e904b88bf71af2824b438e54102daa50e373c5c6e831e3f574fbdd9e4696fc','am_MFjvj8',1795813721889,NULL,NULL,NULL,1795813731583,'01a21ed6-c733-72e6-8abf-f328700be919','check');
INSERT INTO api_keys VALUES('01a21ed6-c9ee-7405-b98e-b918d9683d30','01a205cb-d864-7555-a3ff-8be7708efbf7','dashboard','043cac70753c81375ced133b9225730bf6204fd1e4e8bd16a345716ee4e18c9f','am_W9KvR6',1795813722605,NULL,NULL,NULL,1795813731767,NULL,'read');
INSERT INTO api_keys VALUES('01a21ed6-ccff-72b5-bf7d-67dd10881ce9','01a205cb-ddd3-71a6-9b54-39d3b67a43f4','crawler','37816a771f02d1c5e73a4530a690a3bdc88e38e6f3ac6954d3bf5ab6aa7a7935','am_GYN4nL',1795813723390,1795813735555,NULL,NULL,1795813731667,'01a21ed6-cd02-7430-b565-fd879a1f1bee','check,read');
INSERT INTO api_keys VALUES('01a21ed6-cf3a-75e4-a265-f049027e5016','01a21ed6-b240-713e-aa83-24bdb982d98d',NULL,'2fdb94afa3d6d5e6a5395415ea24bd8770a8337114d566545439b123d3df07a1','am_5P1vKO',1795813723961,NULL,NULL,NULL,1795813731736,NULL,'check,read');
INSERT INTO api_keys VALUES('01a21ed6-fc89-72c7-8ee3-b9578737d92c','01a205cb-ddd3-71a6-9b54-39d3b67a43f4','crawler','adfda73442000c581df54fec53aa11d5b8ec26d82c62101563b4da75577309d8','am_lL0BbK',1795813735555,NULL,NULL,NULL,NULL,'01a21ed6-cd02-7430-b565-fd879a1f1bee','check,read');
CREATE TABLE balances (
  account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
  granted BIGINT NOT NULL,
  charged BIGINT NOT NULL,
  held BIGINT NOT NULL,
  entries BIGINT NOT NULL,
  head TEXT NOT NULL, budgets BIGINT NOT NULL DEFAULT 0,
  CHECK (charged >= 0 AND held >= 0 AND charged + held <= granted)
) WITHOUT ROWID;
INSERT INTO balances VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',1960,40,2,23,'c15ec0c1b844cbf166215ff19137736ce15252b668121c39e68e803eab2aaf96',3);
INSERT INTO balances VALUES('01a205cb-ddd3-71a6-9b54-39d3b67a43f4',35,5,1,5,'e0cba39e07d463cda3aaad97380ba0da7b64ff7b4a61ec4a019ee32c759fbabe',1);
INSERT INTO balances VALUES('01a205cb-e359-71f0-bd7a-da03794adc35',0,0,0,0,'',0);
INSERT INTO balances VALUES('01a21ed6-b240-713e-aa83-24bdb982d98d',35,1,0,3,'9c9168838e9e9635de5f52121641ac3a8137af7b70c4424245bd00d4bde77f02',0);
CREATE TABLE holds (
  request_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  amount BIGINT NOT NULL CHECK (amount > 0),
  expires_at BIGINT NOT NULL
, owner TEXT, api_key_id TEXT, held_at BIGINT) WITHOUT ROWID;
INSERT INTO holds VALUES('01a21ed7-0ca3-7363-9b73-874f916f7f18','01a205cb-d864-7555-a3ff-8be7708efbf7',2,1795813799705,'01a21ed7-0919-72dd-8ee6-9c607e7dde3f','01a21ed6-c0e2-73bd-b230-7e25e3b09d8a',1795813739705);
INSERT INTO holds VALUES('01a21ed7-0cdf-733c-8ff8-eaecb48cb91b','01a205cb-ddd3-71a6-9b54-39d3b67a43f4',1,1795813799744,'01a21ed7-0919-72dd-8ee6-9c607e7dde3f','01a21ed6-fc89-72c7-8ee3-b9578737d92c',1795813739744);
CREATE TABLE receipts (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  request_id TEXT NOT NULL,
  body TEXT,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, key)
);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','order-1','c3c82cd0cb9eeacec41e548d9a81c6f972b3468ec1db6be0740ab8444549608d','01a205cc-26d9-705c-b6ea-83fd06ac5731','{"creditsUsed":1,"outcomes":[[50,29,4]]}',1795900115240);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','order-2','f2ec9534cc03b2bc712b6ef8af42b48831d6ee4eae6aca51510cfd5706d859f4','01a205cc-26fe-72c1-9368-d891dc04c5fc','{"creditsUsed":3,"outcomes":[[16,18,88],[50,71,4],[50,29,4]]}',1795900115240);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','in quotes, with "quotes" and \','5e49e44e1b805f1fa9aa50499c1ac9abbffddedd892bfa82920f76ea2f1aaf73','01a205cc-272c-73f6-9329-3d843a73737a','{"creditsUsed":2,"outcomes":[[50,29,4],[50,29,4]]}',1795900115240);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','some-fail','f4c58af9ab617b57e478fff4312badad6e264c0b4005bf6cff45b07c655d5890','01a205cc-275a-71bb-a24a-d8204c5aa801','{"creditsUsed":3,"outcomes":["INVALID_URL",[68,55,50],"PROVIDER_ERROR","INVALID_URL","SERVER_ERROR",[50,42],[68,55,50],"INVALID_URL"]}',1795900115240);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','none-succeeds','9723985d3f74d777b5e72e21e8c6ceb8db2207bdc7c96d5131f1b33d88a09062','01a205cc-277a-75a4-8e4f-525e943557b4','{"creditsUsed":0,"outcomes":["PROVIDER_ERROR","SERVER_ERROR","INVALID_URL"]}',1795900115240);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','only-invalid','677844543ad2a674dc7675a4a0e2e3a18e147f39c9e1e7806169ec40ec2f8caf','01a205cc-279a-739e-9ab9-e05effb4e0cc','{"creditsUsed":0,"outcomes":["INVALID_URL","INVALID_URL","INVALID_URL"]}',1795900115240);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','not-ascii','d74978581fdb540e2504d17d122a43dce0e5764715af1a92cd734df85df8f00b','01a205cc-27ac-71de-bf83-518b1bd4c3f3','{"creditsUsed":5,"outcomes":[[100,80,36],[50,68,64],[50,47,4],[50,67,4],[50,2,4],"INVALID_URL"]}',1795900115240);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','8e03978e-40d5-43dd-bc93-6894a57f9324','eb69d768c1c0f46e92172cd556acffde44231564562118bf689d675fcbc5d163','01a205cc-27d9-76e4-a540-159f2f4a700c','{"creditsUsed":1,"outcomes":[[50,37]]}',1795900115240);
INSERT INTO receipts VALUES('01a205cb-ddd3-71a6-9b54-39d3b67a43f4','order-1','f205e9cb0ae95956986d99fde876b28954799c23083c9d5431ba0f4c5c4f4d60','01a205cc-27f5-75c3-9b12-69b60a6d7318','{"creditsUsed":2,"outcomes":[[87,41,66],[88,4,27]]}',1795900115240);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','fractions','5ac9361f07d4f7d085cef8567651e97b44737533f0c8b17ae01401277183faea','01a205cc-3308-7270-896e-76f1b981c249','{"creditsUsed":2,"outcomes":[[89.44,89.44],[73.88,73.88],"PROVIDER_ERROR"]}',1795900115240);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','invoice-1','c3c82cd0cb9eeacec41e548d9a81c6f972b3468ec1db6be0740ab8444549608d','01a21ed6-eabd-765c-b1e7-28d4e9b758e2','{"creditsUsed":1,"outcomes":[[54,94,35]]}',1795900131007);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','invoice-2','f2ec9534cc03b2bc712b6ef8af42b48831d6ee4eae6aca51510cfd5706d859f4','01a21ed6-eadf-73c0-a597-e96b91db99c5','{"creditsUsed":3,"outcomes":[[22,5,82],[65,44,38],[54,94,35]]}',1795900131101);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','in quotes, with "more" and \','9c36e627ba1537b2c1c4d291fd6f12627e845e37336dfe89d01bfc6f6463817a','01a21ed6-eb2e-7419-8327-bb1d4e2299df','{"creditsUsed":2,"outcomes":[[54,94,35],[54,94,35]]}',1795900131119);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','a-failure','0dde26927037a19cb0011bf70f9272e511635a9cb835385bcb564cbc9073fc9e','01a21ed6-eb4e-7147-a022-0e08e92c3737','{"creditsUsed":2,"outcomes":["INVALID_URL",[30,7,33],"PROVIDER_ERROR",[100,39,50]]}',1795900131234);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','only-failures','6f896b95af954c3a4c4d1d37215a14b6941f1f4895d9652da4e907e994a838de','01a21ed6-ebbb-7645-a026-d6b194a9ffb0','{"creditsUsed":0,"outcomes":["PROVIDER_ERROR","PROVIDER_ERROR"]}',1795900131292);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','non-ascii','9e8a272d7552ba0c37458108eed16fbf25bf822a950997305522bd1dced9b58f','01a21ed6-ebfa-70e0-a72f-0bd3ed417446','{"creditsUsed":3,"outcomes":[[67,14,13],[73,94,40],[67,14,13]]}',1795900131372);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','with-provenance','4dec946230f630b79b0f26857ff6e3140976933c8b0ca9b953a9d249245c6fa9','01a21ed6-ec43-7694-9d07-b6a32699a629','{"creditsUsed":2,"outcomes":[[54,94,35],"PROVIDER_ERROR",[54,56,48]],"sources":[{"provider":"moz","source":"known","fetchedAt":"2026-11-27T21:08:50.996Z","ageSeconds":0,"index":null},{"cause":"unknown","detail":"Moz does not know the page (error -32655)."},{"provider":"moz","source":"bought","fetchedAt":"2026-11-27T21:08:51.439Z","ageSeconds":0,"index":null}]}',1795900131447);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','of-a-budget','efbdcee633d0c1fd6ebee931c3fbcc6938d52764d6e19a1c9d17ba44d7d7d685','01a21ed6-eca5-76d4-bc12-6a1adf20f37b','{"creditsUsed":2,"outcomes":[[65,11,32],[26,9,56]]}',1795900131551);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','0c5e7d0f-3f0c-4b43-9a55-0a4f0e0c7d52','009500429c1efe0018a99d529c5afb129ef9aaf37e5debaf675fa7dbf8fe7161','01a21ed6-ecfe-73f5-bb4b-e3c49005eaf8','{"creditsUsed":1,"outcomes":[[54,19,5]]}',1795900131631);
INSERT INTO receipts VALUES('01a205cb-ddd3-71a6-9b54-39d3b67a43f4','invoice-1','5554c236e5e11f6b2fe7613024bc689683300ddd3fcf1f3c5aeef99a7c6b29c7','01a21ed6-ed4f-709b-8def-bebed24f573b','{"creditsUsed":2,"outcomes":[[1,12,3],[88,76,77]]}',1795900131701);
INSERT INTO receipts VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7','left-open','08c885e0d2be5cbe3004742c6f0ebf36f318552c14a39d0cd73d6d1a4ccb7604','01a21ed7-0ca3-7363-9b73-874f916f7f18',NULL,1795813799705);
CREATE TABLE figures (
  provider TEXT NOT NULL,
  page TEXT NOT NULL,
  domain_authority DOUBLE PRECISION NOT NULL,
  page_authority DOUBLE PRECISION NOT NULL,
  spam_score DOUBLE PRECISION,
  fetched_at BIGINT NOT NULL, vendor_index TEXT, of_domain TEXT, since BIGINT,
  PRIMARY KEY (provider, page)
);
INSERT INTO figures VALUES('moz','example.com/',54.0,77.0,35.0,1795813733042,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','example.com/a?b=c&d',65.0,44.0,38.0,1795813731101,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','example.net/',27.0,72.0,22.0,1795813730996,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.wikipedia.org/wiki/Domain',22.0,5.0,82.0,1795813731101,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','example.org/',30.0,7.0,33.0,1795813731226,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','example.org/b',100.0,39.0,50.0,1795813731226,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.iana.org/',54.0,56.0,48.0,1795813731439,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','xn--bcher-kva.de/',67.0,14.0,13.0,1795813731366,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','xn--r8jz45g.jp/%E3%83%91%E3%82%B9?q=%C3%A9',73.0,94.0,40.0,1795813731366,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','example.com/c',88.0,76.0,77.0,1795813731698,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.ietf.org/',65.0,11.0,32.0,1795813731542,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.iso.org/',1.0,12.0,3.0,1795813731698,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.rfc-editor.org/',26.0,9.0,56.0,1795813731542,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.w3.org/',54.0,19.0,5.0,1795813731630,NULL,NULL,NULL);
CREATE TABLE ranks_0 (
  name TEXT NOT NULL PRIMARY KEY,
  rank BIGINT NOT NULL
) WITHOUT ROWID;
INSERT INTO ranks_0 VALUES('example.com',123);
INSERT INTO ranks_0 VALUES('google.com',1);
INSERT INTO ranks_0 VALUES('wikipedia.org',7);
CREATE TABLE ranks_1 (
  name TEXT NOT NULL PRIMARY KEY,
  rank BIGINT NOT NULL
) WITHOUT ROWID;
CREATE TABLE ranking (
  id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  list BIGINT CHECK (list IN (0, 1)),
  importing BIGINT
, name TEXT, imported_at BIGINT);
INSERT INTO ranking VALUES(1,0,NULL,NULL,NULL);
CREATE TABLE migration_lock (
        id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
        owner TEXT NOT NULL,
        expires_at BIGINT NOT NULL
      );
CREATE TABLE processes (
      id TEXT NOT NULL PRIMARY KEY,
      beats BIGINT NOT NULL
    );
INSERT INTO processes VALUES('01a21ed7-0919-72dd-8ee6-9c607e7dde3f',2);
CREATE TABLE observations (
      page TEXT NOT NULL,
      provider TEXT NOT NULL,
      fetched_at BIGINT NOT NULL,
      last_fetched_at BIGINT NOT NULL,
      vendor_index TEXT,
      domain_authority DOUBLE PRECISION NOT NULL,
      page_authority DOUBLE PRECISION NOT NULL,
      spam_score DOUBLE PRECISION,
      of_vendor BIGINT NOT NULL,
      stored_at BIGINT NOT NULL,
      PRIMARY KEY (page, provider, fetched_at)
    ) WITHOUT ROWID;
INSERT INTO observations VALUES('example.com/','moz',1795813730996,1795813730996,NULL,54.0,94.0,35.0,0,1795813730996);
CREATE TABLE budgets (
      id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      credits BIGINT NOT NULL CHECK (credits > 0),
      period TEXT NOT NULL CHECK (period IN ('day', 'month', 'total')),
      since BIGINT NOT NULL
    );
INSERT INTO budgets VALUES('01a21ed6-c0f3-70a2-b13a-d0ce1c33a3da','01a205cb-d864-7555-a3ff-8be7708efbf7',20,'total',0);
INSERT INTO budgets VALUES('01a21ed6-c3a8-75b7-ac9d-2c2fb16426a6','01a205cb-d864-7555-a3ff-8be7708efbf7',500,'day',1795737600000);
INSERT INTO budgets VALUES('01a21ed6-c733-72e6-8abf-f328700be919','01a205cb-d864-7555-a3ff-8be7708efbf7',2000,'month',1793491200000);
INSERT INTO budgets VALUES('01a21ed6-cd02-7430-b565-fd879a1f1bee','01a205cb-ddd3-71a6-9b54-39d3b67a43f4',10,'total',0);
CREATE TABLE budget_uses (
      budget_id TEXT NOT NULL REFERENCES budgets (id),
      start BIGINT NOT NULL,
      charged BIGINT NOT NULL CHECK (charged >= 0),
      held BIGINT NOT NULL CHECK (held >= 0),
      holds BIGINT NOT NULL CHECK (holds >= 0),
      PRIMARY KEY (budget_id, start)
    );
INSERT INTO budget_uses VALUES('01a21ed6-c3a8-75b7-ac9d-2c2fb16426a6',1795737600000,2,0,0);
INSERT INTO budget_uses VALUES('01a21ed6-c0f3-70a2-b13a-d0ce1c33a3da',0,2,2,1);
INSERT INTO budget_uses VALUES('01a21ed6-c733-72e6-8abf-f328700be919',1793491200000,1,0,0);
INSERT INTO budget_uses VALUES('01a21ed6-cd02-7430-b565-fd879a1f1bee',0,2,1,1);
CREATE TABLE IF NOT EXISTS "entries" (
        account_id TEXT NOT NULL REFERENCES accounts (id),
        sequence BIGINT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('grant', 'charge', 'correction')),
        amount BIGINT NOT NULL CHECK (amount > 0),
        balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
        request_id TEXT,
        urls BIGINT,
        note TEXT,
        at BIGINT NOT NULL,
        hash TEXT NOT NULL,
        api_key_id TEXT,
        held_at BIGINT,
        PRIMARY KEY (account_id, sequence)
      ) WITHOUT ROWID;
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',1,'grant',1000,1000,NULL,NULL,'opening grant',1795393575020,'fe4c6ab545dd52ef46c54f506fb6a44f42912301311f4f274ff121690f734501',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',2,'grant',500,1500,NULL,NULL,'invoice 2, März “gross”',1795393579156,'349392afd388bdc3636c83bed65d7e27cac2d04aa03d79050ef6b27bdd5576f0',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',3,'charge',2,1498,'01a205cc-265c-729f-8763-b37eb735b999',2,NULL,1795393595018,'14623ea2c1959e13a734de337009b166540bbe84e67258298e7aebc45f557fce',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',4,'charge',2,1496,'01a205cc-26a7-76dc-824f-9075afe92f62',2,NULL,1795393595061,'ede72a1c37ed9aa7018e9067ed5d58478a05eda3362e78db7236f9e05379188c',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',5,'charge',1,1495,'01a205cc-26d9-705c-b6ea-83fd06ac5731',1,NULL,1795393595117,'5d1075f3512b38ec3bb09baf0db42f90a5066ef19480770ebcb5e5cd40fc2218',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',6,'charge',3,1492,'01a205cc-26fe-72c1-9368-d891dc04c5fc',3,NULL,1795393595155,'18ad68009f119daa599fe126ef9409aefa3860ab78155b616e87723f8f0c408e',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',7,'charge',2,1490,'01a205cc-272c-73f6-9329-3d843a73737a',2,NULL,1795393595200,'79629484e4b4ea8fb5b7e62ec1f74320adad1c293b74b88a3fefbcc7f3f78ff3',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',8,'charge',3,1487,'01a205cc-275a-71bb-a24a-d8204c5aa801',3,NULL,1795393595240,'c10cae5b2c5de0ebada3963dcf7bd819f4c1315c3d12d2c2f395fdadb29a9bb2',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',9,'charge',5,1482,'01a205cc-27ac-71de-bf83-518b1bd4c3f3',5,NULL,1795393595336,'f1d4428072af87f3778ad9294ebc4d78185219a3609723a8a0f75290cc331918',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',10,'charge',1,1481,'01a205cc-27d9-76e4-a540-159f2f4a700c',1,NULL,1795393595372,'29a75302101781c5987548fef59b44d6d86950c35d96606cc108120fc4819051',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',11,'charge',2,1479,'01a205cc-3308-7270-896e-76f1b981c249',2,NULL,1795393598254,'294d52fa24d7f50db3b70858a787900d0dc391a17e68c2bceb735a84a4b5432c',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',12,'grant',500,1979,NULL,NULL,'invoice 2, März “gross”',1795813725700,'161cbd45b0c7d23cf48b26ec116ec88316e2f933a1a48d71530bd8a5b6fd8a97',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',13,'correction',40,1939,NULL,NULL,'granted twice',1795813726834,'bc7075608503f13cc0d12b1b1871f425c571ca6efd30cf42f7fab86bb18240fa',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',14,'charge',2,1937,'01a21ed6-e950-7559-8839-67d2cc60ca6c',2,NULL,1795813730997,'13edcdf34cf56c2079cbfc65523d1e25a276d6188fc4941bcd51cdf5a16ee112','01a21ed6-b51a-715a-93ad-8341eb3d741b',1795813730653);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',15,'charge',1,1936,'01a21ed6-eabd-765c-b1e7-28d4e9b758e2',1,NULL,1795813731007,'056a625ea0490d4d49bafb64e5ca97a78fcfaee4f1f6971e394ff7640e3a600f','01a21ed6-b51a-715a-93ad-8341eb3d741b',NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',16,'charge',3,1933,'01a21ed6-eadf-73c0-a597-e96b91db99c5',3,NULL,1795813731101,'3619e021cff8bb532450a5d081f9d64e0182156bb328d0e47ea463b96986066b','01a21ed6-b51a-715a-93ad-8341eb3d741b',1795813731040);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',17,'charge',2,1931,'01a21ed6-eb2e-7419-8327-bb1d4e2299df',2,NULL,1795813731119,'9aea982988d678bd9a653d34b1fcd05e0c5cce7a9da3581c2da364f966652c83','01a21ed6-b51a-715a-93ad-8341eb3d741b',NULL);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',18,'charge',2,1929,'01a21ed6-eb4e-7147-a022-0e08e92c3737',2,NULL,1795813731234,'6c610411869e92eb6770d10df5c833009c2c65049b1893c4a35fa595cbacad4f','01a21ed6-b77b-72c6-8def-779b7fb48471',1795813731153);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',19,'charge',3,1926,'01a21ed6-ebfa-70e0-a72f-0bd3ed417446',3,NULL,1795813731372,'fceaf8767a820330b7aeba866229b4fb0a6e9ff764e9cfd5e2802748a87a1fc5','01a21ed6-b77b-72c6-8def-779b7fb48471',1795813731336);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',20,'charge',2,1924,'01a21ed6-ec43-7694-9d07-b6a32699a629',2,NULL,1795813731447,'e0ba4e59e342c4e87243b5509886716edb37473da90db610d3704d4865a5a097','01a21ed6-c3a0-74a9-aed2-f35773f76119',1795813731398);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',21,'charge',2,1922,'01a21ed6-eca5-76d4-bc12-6a1adf20f37b',2,NULL,1795813731551,'cfeff7c6a5bb6b57e21c54f840c078315773e010d26afca4f0b4f87faee1b799','01a21ed6-c0e2-73bd-b230-7e25e3b09d8a',1795813731501);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',22,'charge',1,1921,'01a21ed6-ecfe-73f5-bb4b-e3c49005eaf8',1,NULL,1795813731631,'d9d8c4d483ad37b27fff03e495e2c624c35b0ad7945eb764fd98b0ee50f3681f','01a21ed6-c722-75b1-a753-f824abd30459',1795813731584);
INSERT INTO entries VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',23,'charge',1,1920,'01a21ed6-f270-707f-b5f6-026c3827fdaf',1,NULL,1795813733051,'c15ec0c1b844cbf166215ff19137736ce15252b668121c39e68e803eab2aaf96','01a21ed6-b51a-715a-93ad-8341eb3d741b',1795813732978);
INSERT INTO entries VALUES('01a205cb-ddd3-71a6-9b54-39d3b67a43f4',1,'grant',25,25,NULL,NULL,'opening grant',1795393576426,'ced70e38a29bdccb53a79bca22e9f160a18b52f8300c167392154feef262a614',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-ddd3-71a6-9b54-39d3b67a43f4',2,'charge',1,24,'01a205cc-26c1-73e9-a017-fe019630e9fe',1,NULL,1795393595084,'9642efd03bed803c80ada94dd6bf7415c010d94a9fe6ecd97d9fb360848a5ee6',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-ddd3-71a6-9b54-39d3b67a43f4',3,'charge',2,22,'01a205cc-27f5-75c3-9b12-69b60a6d7318',2,NULL,1795393595387,'55f2928fc07f4e0c61156c1c5ffb898326b2d5ba03de9d8d4263915b02bf4171',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-ddd3-71a6-9b54-39d3b67a43f4',4,'grant',10,32,NULL,NULL,'a gift',1795813730465,'9545016908f2d73b4669cded60d803f42457742bc6fb30b6ba234bf482ed7e32',NULL,NULL);
INSERT INTO entries VALUES('01a205cb-ddd3-71a6-9b54-39d3b67a43f4',5,'charge',2,30,'01a21ed6-ed4f-709b-8def-bebed24f573b',2,NULL,1795813731701,'e0cba39e07d463cda3aaad97380ba0da7b64ff7b4a61ec4a019ee32c759fbabe','01a21ed6-ccff-72b5-bf7d-67dd10881ce9',1795813731668);
INSERT INTO entries VALUES('01a21ed6-b240-713e-aa83-24bdb982d98d',1,'grant',40,40,NULL,NULL,'opening grant',1795813716588,'fb6c0b83a034a883bab05a9fa29d64df4a120dda300ab0594f5da7935164f823',NULL,NULL);
INSERT INTO entries VALUES('01a21ed6-b240-713e-aa83-24bdb982d98d',2,'correction',5,35,NULL,NULL,'a mistake',1795813730572,'d01d1ee0e858d2c507756834ae8946111b9512a668840fd07574d87249c0b3f5',NULL,NULL);
INSERT INTO entries VALUES('01a21ed6-b240-713e-aa83-24bdb982d98d',3,'charge',1,34,'01a21ed6-ed96-7548-ad84-577e75c43c2a',1,NULL,1795813731737,'9c9168838e9e9635de5f52121641ac3a8137af7b70c4424245bd00d4bde77f02','01a21ed6-cf3a-75e4-a265-f049027e5016',NULL);
CREATE TABLE audit_log (
      sequence BIGINT NOT NULL PRIMARY KEY,
      at BIGINT NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      subject TEXT NOT NULL,
      detail TEXT NOT NULL,
      row_table TEXT,
      row_id TEXT,
      state TEXT,
      granted BIGINT,
      hash TEXT NOT NULL
    );
INSERT INTO audit_log VALUES(1,1795813715907,'cli:root','log.begin','the audit log','{"accounts":3,"keys":7,"granted":"1525"}',NULL,NULL,NULL,NULL,'415e443e304c62cec248d56bb63a4014afee04a11cd34c40e34b43742ad9d8fb');
INSERT INTO audit_log VALUES(2,1795813716559,'cli:root','account.create','hooli','{}','accounts','01a21ed6-b240-713e-aa83-24bdb982d98d','{"changed":null,"row":{"id":"01a21ed6-b240-713e-aa83-24bdb982d98d","name":"hooli","createdAt":"1795813716546"}}',NULL,'c21a810de9324d885f07f9a939a18c46aa5033a58753dc48a5018d54279b1607');
INSERT INTO audit_log VALUES(3,1795813716588,'cli:root','credits.grant','hooli','{"amount":40,"note":"opening grant","entry":1}','accounts','01a21ed6-b240-713e-aa83-24bdb982d98d',NULL,40,'943ff32ee441b99dfeb1efb06f8daf8f78c3e42a130e5973fc294e976dbbed1b');
INSERT INTO audit_log VALUES(4,1795813717289,'cli:root','key.create','01a21ed6-b51a-715a-93ad-8341eb3d741b','{"account":"acme","label":"shop","start":"am_ycAjrf","expiresAt":null,"scopes":"check,read"}','api_keys','01a21ed6-b51a-715a-93ad-8341eb3d741b','{"changed":null,"row":{"id":"01a21ed6-b51a-715a-93ad-8341eb3d741b","accountId":"01a205cb-d864-7555-a3ff-8be7708efbf7","label":"shop","hash":"b045e7477ac451723ba6d864806d7203f44036a4e6b6d3675dcd585baae02e0a","start":"am_ycAjrf","createdAt":"1795813717272","scopes":"check,read"}}',NULL,'83da52c39a281baf8c756d0e0d5d24c85482c1d5e1d0de917d01e7d9e1c22cde');
INSERT INTO audit_log VALUES(5,1795813717897,'cli:root','key.create','01a21ed6-b77b-72c6-8def-779b7fb48471','{"account":"acme","label":"búsqueda","start":"am_rGDfjP","expiresAt":"2036-11-24T21:08:37.882Z","scopes":"check,read"}','api_keys','01a21ed6-b77b-72c6-8def-779b7fb48471','{"changed":null,"row":{"id":"01a21ed6-b77b-72c6-8def-779b7fb48471","accountId":"01a205cb-d864-7555-a3ff-8be7708efbf7","label":"búsqueda","hash":"fe7555c7ae637e97f4e4dc7d03de2c60dadaf8ad400c4c1a35cfa1ecb34df41d","start":"am_rGDfjP","createdAt":"1795813717882","expiresAt":"2111173717882","lifetimeMs":"315360000000","scopes":"check,read"}}',NULL,'5d77f9fbbaf78641929d587f4119bd55de2e9604455533d0f23a44d635cdbf77');
INSERT INTO audit_log VALUES(6,1795813719019,'cli:root','key.create','01a21ed6-bbc6-7770-9712-1e6f5b1bac14','{"account":"acme","label":null,"start":"am_khTqkD","expiresAt":"2026-11-27T21:08:39.981Z","scopes":"check,read"}','api_keys','01a21ed6-bbc6-7770-9712-1e6f5b1bac14','{"changed":null,"row":{"id":"01a21ed6-bbc6-7770-9712-1e6f5b1bac14","accountId":"01a205cb-d864-7555-a3ff-8be7708efbf7","hash":"dbeb73088268c9e7bf417419330eefbcf5bd2d81725a6ca1e0b1e10975cebf03","start":"am_khTqkD","createdAt":"1795813718981","expiresAt":"1795813719981","lifetimeMs":"1000","scopes":"check,read"}}',NULL,'8d2c46e5507a18967ea2e48000791793fa02462d19bb4ceebd92c499aad58270');
INSERT INTO audit_log VALUES(7,1795813719653,'cli:root','key.create','01a21ed6-be55-7789-b30a-97ea31fcf890','{"account":"acme","label":null,"start":"am_cdZ9Ir","expiresAt":null,"scopes":"check"}','api_keys','01a21ed6-be55-7789-b30a-97ea31fcf890','{"changed":null,"row":{"id":"01a21ed6-be55-7789-b30a-97ea31fcf890","accountId":"01a205cb-d864-7555-a3ff-8be7708efbf7","hash":"382aa30be6a50f2fc945173c445b859e423b1d52c6253ceaa17193c0d4e3cebf","start":"am_cdZ9Ir","createdAt":"1795813719636","scopes":"check"}}',NULL,'1e77ff20c6692d52ecf86af3ef7a59b338f3505814fdf36ea21aa27771ffc498');
INSERT INTO audit_log VALUES(8,1795813720336,'cli:root','key.create','01a21ed6-c0e2-73bd-b230-7e25e3b09d8a','{"account":"acme","label":"interns","start":"am_HGVIyI","expiresAt":null,"scopes":"check,read","budget":"20/total"}','api_keys','01a21ed6-c0e2-73bd-b230-7e25e3b09d8a','{"changed":null,"row":{"id":"01a21ed6-c0e2-73bd-b230-7e25e3b09d8a","accountId":"01a205cb-d864-7555-a3ff-8be7708efbf7","label":"interns","hash":"e8f9df4fcba46f5ff68d38eed80f701fc5642a10f9ded033e046f9afa694e67b","start":"am_HGVIyI","createdAt":"1795813720289","budgetId":"01a21ed6-c0f3-70a2-b13a-d0ce1c33a3da","scopes":"check,read","budget":"20/total"}}',NULL,'51d169534c70afad72a37509eeac9feb97f866370ee2080a471f0c5d9c20ed0c');
INSERT INTO audit_log VALUES(9,1795813721021,'cli:root','key.create','01a21ed6-c3a0-74a9-aed2-f35773f76119','{"account":"acme","label":null,"start":"am_jVox5Y","expiresAt":null,"scopes":"check,read","budget":"500/day"}','api_keys','01a21ed6-c3a0-74a9-aed2-f35773f76119','{"changed":null,"row":{"id":"01a21ed6-c3a0-74a9-aed2-f35773f76119","accountId":"01a205cb-d864-7555-a3ff-8be7708efbf7","hash":"25193dc61e9603ee2e1f00658dcd6efc53821c4e5eafff726babb02f23af426b","start":"am_jVox5Y","createdAt":"1795813720990","budgetId":"01a21ed6-c3a8-75b7-ac9d-2c2fb16426a6","scopes":"check,read","budget":"500/day"}}',NULL,'0f5a6fb221c4bb3efe0e3a1ef47df6940553cd28d91898355787d311ce5e50f1');
INSERT INTO audit_log VALUES(10,1795813721917,'cli:root','key.create','01a21ed6-c722-75b1-a753-f824abd30459','{"account":"acme","label":null,"start":"am_MFjvj8","expiresAt":null,"scopes":"check","budget":"2000/month"}','api_keys','01a21ed6-c722-75b1-a753-f824abd30459','{"changed":null,"row":{"id":"01a21ed6-c722-75b1-a753-f824abd30459","accountId":"01a205cb-d864-7555-a3ff-8be7708efbf7","hash":"14e904b88bf71af2824b438e54102daa50e373c5c6e831e3f574fbdd9e4696fc","start":"am_MFjvj8","createdAt":"1795813721889","budgetId":"01a21ed6-c733-72e6-8abf-f328700be919","scopes":"check","budget":"2000/month"}}',NULL,'3809131b8bb901dbf1fad2b417e410642224e5aec6ee533e836670a8a49b9711');
INSERT INTO audit_log VALUES(11,1795813722615,'cli:root','key.create','01a21ed6-c9ee-7405-b98e-b918d9683d30','{"account":"acme","label":null,"start":"am_W9KvR6","expiresAt":null,"scopes":"read"}','api_keys','01a21ed6-c9ee-7405-b98e-b918d9683d30','{"changed":null,"row":{"id":"01a21ed6-c9ee-7405-b98e-b918d9683d30","accountId":"01a205cb-d864-7555-a3ff-8be7708efbf7","hash":"043cac70753c81375ced133b9225730bf6204fd1e4e8bd16a345716ee4e18c9f","start":"am_W9KvR6","createdAt":"1795813722605","scopes":"read"}}',NULL,'ca2367165fb0db81fe345b2874157f04a9a8afc96185fadc93b32f954a387111');
INSERT INTO audit_log VALUES(12,1795813723403,'cli:root','key.create','01a21ed6-ccff-72b5-bf7d-67dd10881ce9','{"account":"globex","label":"crawler","start":"am_GYN4nL","expiresAt":null,"scopes":"check,read","budget":"10/total"}','api_keys','01a21ed6-ccff-72b5-bf7d-67dd10881ce9','{"changed":null,"row":{"id":"01a21ed6-ccff-72b5-bf7d-67dd10881ce9","accountId":"01a205cb-ddd3-71a6-9b54-39d3b67a43f4","label":"crawler","hash":"37816a771f02d1c5e73a4530a690a3bdc88e38e6f3ac6954d3bf5ab6aa7a7935","start":"am_GYN4nL","createdAt":"1795813723390","budgetId":"01a21ed6-cd02-7430-b565-fd879a1f1bee","scopes":"check,read","budget":"10/total"}}',NULL,'4231af9148392f866c4dcc5555390e86d9bc2675ac964a94c03a6563efd0214c');
INSERT INTO audit_log VALUES(13,1795813723972,'cli:root','key.create','01a21ed6-cf3a-75e4-a265-f049027e5016','{"account":"hooli","label":null,"start":"am_5P1vKO","expiresAt":null,"scopes":"check,read"}','api_keys','01a21ed6-cf3a-75e4-a265-f049027e5016','{"changed":null,"row":{"id":"01a21ed6-cf3a-75e4-a265-f049027e5016","accountId":"01a21ed6-b240-713e-aa83-24bdb982d98d","hash":"2fdb94afa3d6d5e6a5395415ea24bd8770a8337114d566545439b123d3df07a1","start":"am_5P1vKO","createdAt":"1795813723961","scopes":"check,read"}}',NULL,'5e3c7d035144a043b29fa501786614eff88a38f0d1713ed8277f22b7109ecfc2');
INSERT INTO audit_log VALUES(14,1795813724520,'cli:root','key.update','01a21ed6-c9ee-7405-b98e-b918d9683d30','{"account":"acme","label":"dashboard"}','api_keys','01a21ed6-c9ee-7405-b98e-b918d9683d30','{"changed":["label"],"row":{"id":"01a21ed6-c9ee-7405-b98e-b918d9683d30","accountId":"01a205cb-d864-7555-a3ff-8be7708efbf7","label":"dashboard","hash":"043cac70753c81375ced133b9225730bf6204fd1e4e8bd16a345716ee4e18c9f","start":"am_W9KvR6","createdAt":"1795813722605","scopes":"read"}}',NULL,'ec6e938c360931d6a9901162881931619ef1884b6a19a60912e4e91096d490b2');
INSERT INTO audit_log VALUES(15,1795813725700,'cli:root','credits.grant','acme','{"amount":500,"note":"invoice 2, März “gross”","entry":12}','accounts','01a205cb-d864-7555-a3ff-8be7708efbf7',NULL,500,'860675bc94ad82d9792d3978ca3b7104f0bb95aafbb660f0729b467a9cbc6645');
INSERT INTO audit_log VALUES(16,1795813726834,'cli:root','credits.correct','acme','{"amount":40,"note":"granted twice","entry":13}','accounts','01a205cb-d864-7555-a3ff-8be7708efbf7',NULL,-40,'16b904946e8cd871ad20a606f057b1ca1bdcb10fcbbc63c498aae3bb062b1fe0');
INSERT INTO audit_log VALUES(17,1795813728035,'cli:root','credits.correct','globex','{"refused":"only 21 credits can be taken away, because what is charged or held stays; correct at most that, or suspend the account"}',NULL,NULL,NULL,NULL,'5980da8582112be86e3f60a76d0febb56467dc232574247bce45ae1b0787b617');
INSERT INTO audit_log VALUES(18,1795813730465,'admin@127.0.0.1','credits.grant','globex','{"amount":10,"note":"a gift","entry":4}','accounts','01a205cb-ddd3-71a6-9b54-39d3b67a43f4',NULL,10,'e2d6c3306aba16c78531c9f0a978c59049d65d6e6fa175f43e402e12bd6667de');
INSERT INTO audit_log VALUES(19,1795813730572,'admin@127.0.0.1','credits.correct','hooli','{"amount":5,"note":"a mistake","entry":2}','accounts','01a21ed6-b240-713e-aa83-24bdb982d98d',NULL,-5,'42029dcfe6467e59a1c771c80f7dbb51745140e1346ebb046d4e7b9ef8c4ad01');
INSERT INTO audit_log VALUES(20,1795813730604,'admin@127.0.0.1','credits.grant','nobody','{"refused":"no account has the name or id \"nobody\"; see ''authority account list''"}',NULL,NULL,NULL,NULL,'c481df887eb08f60902a853b1b203c1b29ce7f2625178d0b00b00db25f248318');
INSERT INTO audit_log VALUES(21,1795813735589,'cli:root','key.rotate','01a21ed6-ccff-72b5-bf7d-67dd10881ce9','{"account":"globex","successor":"01a21ed6-fc89-72c7-8ee3-b9578737d92c","expiresAt":"2026-11-27T21:08:55.555Z"}','api_keys','01a21ed6-ccff-72b5-bf7d-67dd10881ce9','{"changed":["expiresAt"],"row":{"id":"01a21ed6-ccff-72b5-bf7d-67dd10881ce9","accountId":"01a205cb-ddd3-71a6-9b54-39d3b67a43f4","label":"crawler","hash":"37816a771f02d1c5e73a4530a690a3bdc88e38e6f3ac6954d3bf5ab6aa7a7935","start":"am_GYN4nL","createdAt":"1795813723390","expiresAt":"1795813735555","budgetId":"01a21ed6-cd02-7430-b565-fd879a1f1bee","scopes":"check,read","budget":"10/total"}}',NULL,'75d28321589c3f137b4481fc9dd2a7d9ea9011ad1f4ecab30969a9ae0229a6d0');
INSERT INTO audit_log VALUES(22,1795813735621,'cli:root','key.create','01a21ed6-fc89-72c7-8ee3-b9578737d92c','{"account":"globex","label":"crawler","start":"am_lL0BbK","expiresAt":null,"scopes":"check,read","budget":"10/total","replaces":"01a21ed6-ccff-72b5-bf7d-67dd10881ce9"}','api_keys','01a21ed6-fc89-72c7-8ee3-b9578737d92c','{"changed":null,"row":{"id":"01a21ed6-fc89-72c7-8ee3-b9578737d92c","accountId":"01a205cb-ddd3-71a6-9b54-39d3b67a43f4","label":"crawler","hash":"adfda73442000c581df54fec53aa11d5b8ec26d82c62101563b4da75577309d8","start":"am_lL0BbK","createdAt":"1795813735555","budgetId":"01a21ed6-cd02-7430-b565-fd879a1f1bee","scopes":"check,read","budget":"10/total"}}',NULL,'4b9e746144a6b00efc75959485813620fdbaac153f20070c1c9e8ef05e30fdcc');
INSERT INTO audit_log VALUES(23,1795813736745,'cli:root','key.revoke','01a21ed6-be55-7789-b30a-97ea31fcf890','{"account":"acme","revokedAt":"2026-11-27T21:08:56.731Z"}','api_keys','01a21ed6-be55-7789-b30a-97ea31fcf890','{"changed":["revokedAt"],"row":{"id":"01a21ed6-be55-7789-b30a-97ea31fcf890","accountId":"01a205cb-d864-7555-a3ff-8be7708efbf7","hash":"382aa30be6a50f2fc945173c445b859e423b1d52c6253ceaa17193c0d4e3cebf","start":"am_cdZ9Ir","createdAt":"1795813719636","revokedAt":"1795813736731","scopes":"check"}}',NULL,'4847354c4765c3b434ae8eaaad1452857b4fbc9deefb7d2cfef9b10c3df21893');
INSERT INTO audit_log VALUES(24,1795813737692,'cli:root','account.suspend','hooli','{}','accounts','01a21ed6-b240-713e-aa83-24bdb982d98d','{"changed":["suspendedAt"],"row":{"id":"01a21ed6-b240-713e-aa83-24bdb982d98d","name":"hooli","createdAt":"1795813716546","suspendedAt":"1795813737675"}}',NULL,'c56fb006ecddf5039f2df5c1eab169494fd4ce65f443df42d53441032d79ba2f');
CREATE TABLE audit_head (
      id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
      entries BIGINT NOT NULL,
      head TEXT NOT NULL
    );
INSERT INTO audit_head VALUES(1,24,'c56fb006ecddf5039f2df5c1eab169494fd4ce65f443df42d53441032d79ba2f');
CREATE TABLE act_requests (
      request_key TEXT NOT NULL,
      action TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      row_id TEXT,
      PRIMARY KEY (request_key, action)
    );
INSERT INTO act_requests VALUES('grant-1','credits.grant','1e31be682eda037ce8d181f32efa81fef2829d6282cef8a1a59eab95252f2233','01a205cb-ddd3-71a6-9b54-39d3b67a43f4');
INSERT INTO act_requests VALUES('grant-2','credits.correct','76e84bd072a9b9eae211dd20ed7e567188d0f9edf25180c23cb277556a5a6d26','01a21ed6-b240-713e-aa83-24bdb982d98d');
CREATE TABLE usage (
      account_id TEXT NOT NULL REFERENCES accounts (id),
      day BIGINT NOT NULL,
      api_key_id TEXT NOT NULL,
      checks BIGINT NOT NULL,
      credits BIGINT NOT NULL,
      known BIGINT NOT NULL,
      invalid_url BIGINT NOT NULL,
      provider_error BIGINT NOT NULL,
      server_error BIGINT NOT NULL,
      PRIMARY KEY (account_id, day, api_key_id)
    ) WITHOUT ROWID;
INSERT INTO usage VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',20784,'01a21ed6-b51a-715a-93ad-8341eb3d741b',9,9,4,0,0,0);
INSERT INTO usage VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',20784,'01a21ed6-b77b-72c6-8def-779b7fb48471',5,5,0,1,3,0);
INSERT INTO usage VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',20784,'01a21ed6-c0e2-73bd-b230-7e25e3b09d8a',2,2,0,0,0,0);
INSERT INTO usage VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',20784,'01a21ed6-c3a0-74a9-aed2-f35773f76119',2,2,1,0,1,0);
INSERT INTO usage VALUES('01a205cb-d864-7555-a3ff-8be7708efbf7',20784,'01a21ed6-c722-75b1-a753-f824abd30459',1,1,0,0,0,0);
INSERT INTO usage VALUES('01a205cb-ddd3-71a6-9b54-39d3b67a43f4',20784,'01a21ed6-ccff-72b5-bf7d-67dd10881ce9',2,2,0,0,0,0);
INSERT INTO usage VALUES('01a21ed6-b240-713e-aa83-24bdb982d98d',20784,'01a21ed6-cf3a-75e4-a265-f049027e5016',1,1,1,1,0,0);
CREATE TABLE purchase_days (
      provider TEXT NOT NULL,
      day BIGINT NOT NULL,
      calls BIGINT NOT NULL,
      targets BIGINT NOT NULL,
      rows_bought BIGINT NOT NULL,
      cost BIGINT,
      unknown_calls BIGINT NOT NULL,
      unknown_targets BIGINT NOT NULL,
      PRIMARY KEY (provider, day)
    ) WITHOUT ROWID;
INSERT INTO purchase_days VALUES('moz',20784,12,22,15,75000,1,3);
CREATE TABLE purchases (
      id TEXT NOT NULL PRIMARY KEY,
      provider TEXT NOT NULL,
      at BIGINT NOT NULL,
      targets BIGINT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('unknown', 'answered', 'failed')),
      rows_bought BIGINT,
      cost BIGINT,
      is_reported BIGINT
    ) WITHOUT ROWID;
INSERT INTO purchases VALUES('01a21ed6-e98b-7603-a633-a4b4067fef98','moz',1795813730704,2,'failed',0,0,0);
INSERT INTO purchases VALUES('01a21ed6-eaaa-751a-bf0c-9bfee0fc5cb6','moz',1795813730987,2,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed6-eb07-74e7-8e4e-a894771ce2f2','moz',1795813731080,2,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed6-eb7b-77fd-9973-98707177a40f','moz',1795813731196,3,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed6-ebcb-73eb-87cc-a72c5bd14b04','moz',1795813731276,1,'answered',0,0,0);
INSERT INTO purchases VALUES('01a21ed6-ec1b-7529-9a21-af53382eb7e7','moz',1795813731355,2,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed6-ec67-750c-80e5-f17cac445d69','moz',1795813731431,1,'answered',1,5000,0);
INSERT INTO purchases VALUES('01a21ed6-ecc1-7490-af9f-4c5c7e0cc60a','moz',1795813731521,2,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed6-ed17-7331-8b73-55a326bfb2aa','moz',1795813731607,1,'answered',1,5000,0);
INSERT INTO purchases VALUES('01a21ed6-ed60-7603-abcb-351e0be3f37d','moz',1795813731680,2,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed6-f28e-727d-bb07-ce8660eccc8a','moz',1795813733007,1,'answered',1,5000,0);
INSERT INTO purchases VALUES('01a21ed7-0cf3-7093-9d0e-04030f6c6999','moz',1795813739764,3,'unknown',NULL,NULL,NULL);
CREATE TABLE vendors (
      name TEXT NOT NULL PRIMARY KEY,
      paused_until BIGINT NOT NULL
    );
INSERT INTO vendors VALUES('moz',0);
CREATE TABLE vendor_readings (
      provider TEXT NOT NULL,
      at BIGINT NOT NULL,
      day BIGINT,
      unit TEXT NOT NULL,
      used BIGINT NOT NULL,
      resets_at BIGINT,
      calls BIGINT NOT NULL,
      rows_bought BIGINT NOT NULL,
      cost BIGINT NOT NULL,
      unknown_calls BIGINT NOT NULL,
      unknown_targets BIGINT NOT NULL,
      in_flight_calls BIGINT NOT NULL,
      in_flight_targets BIGINT NOT NULL,
      PRIMARY KEY (provider, at)
    ) WITHOUT ROWID;
CREATE TABLE claims (
      provider TEXT NOT NULL,
      page TEXT NOT NULL,
      owner TEXT NOT NULL,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (provider, page)
    ) WITHOUT ROWID;
CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at);
CREATE INDEX receipts_by_expiry ON receipts (expires_at);
CREATE INDEX holds_by_expiry ON holds (expires_at);
CREATE INDEX figures_by_age ON figures (fetched_at);
CREATE INDEX observations_by_age ON observations (stored_at);
CREATE TRIGGER figures_changed BEFORE UPDATE ON figures
      WHEN NEW.since IS NULL AND OLD.fetched_at < NEW.fetched_at
      BEGIN 
    INSERT INTO observations
    VALUES (
      OLD.page, OLD.provider, COALESCE(OLD.since, OLD.fetched_at), OLD.fetched_at,
      OLD.vendor_index, OLD.domain_authority, OLD.page_authority, OLD.spam_score, 0, OLD.fetched_at
    ) ON CONFLICT DO NOTHING; END;
CREATE INDEX budgets_by_account ON budgets (account_id);
CREATE UNIQUE INDEX entries_by_request ON entries (request_id);
CREATE INDEX audit_log_by_row ON audit_log (row_table, row_id, sequence);
CREATE INDEX usage_by_day ON usage (day);
CREATE INDEX purchases_by_time ON purchases (at);
CREATE UNIQUE INDEX vendor_readings_by_day ON vendor_readings (provider, day);
COMMIT;
