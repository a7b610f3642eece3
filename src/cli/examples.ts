/** The examples that `--help` shows for each verb. The key is the verb's full name. */
export const examples: Readonly<Record<string, ReadonlyArray<string>>> = {
  serve: ["authority serve", "authority serve --json"],
  "account create": ["authority account create acme --credits 1000"],
  "account list": ["authority account list"],
  "key create": ['authority key create --account acme --label "rank tracker" --expires-in 90d'],
  "key list": ["authority key list --account acme"],
  "key rotate": ["authority key rotate 018f3c1e-7b5a-7c3d-9e2f-0123456789ab --grace 24h"],
  "key revoke": ["authority key revoke 018f3c1e-7b5a-7c3d-9e2f-0123456789ab"],
  "credits grant": ['authority credits grant --account acme --amount 500 --note "invoice 17"'],
  "credits balance": ["authority credits balance --account acme"],
  "credits statement": [
    "authority credits statement --account acme --since 2026-11-01 --format csv",
  ],
  "credits verify": ["authority credits verify"],
  check: [
    "authority check urls.txt --output figures.csv",
    "authority check export.csv --column Address --url https://service.example.com",
  ],
  "dataset import": ["authority dataset import tranco.csv.gz --format tranco --top 100000"],
  doctor: ["authority doctor"],
  backup: ["authority backup /var/backups/authority.db"],
  restore: ["authority restore /var/backups/authority.db"],
  openapi: ["authority openapi"],
}
