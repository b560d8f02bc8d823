package table

// programs lists what programs do that a rule holds: the rule, then how the command
// begins. It is read once, where a command is judged.
const programs = `
deploy vercel deploy|--prod|promote|rollback|alias
deploy now --prod
deploy netlify|netlify-cli|ntl deploy
deploy fly|flyctl deploy|launch|scale|apps|destroy
deploy heroku container:release|releases:rollback|pipelines:promote|apps:destroy|ps:scale
deploy wrangler deploy|publish|delete|rollback
deploy wrangler pages deploy|publish
deploy firebase|firebase-tools deploy
deploy firebase hosting:*
deploy serverless|sls deploy|remove
deploy cdk|aws-cdk|cdktf deploy|destroy
deploy azd up|deploy|down|provision
deploy cf push|delete|restage
deploy heroku pg:reset|ps:restart
deploy fly|flyctl m|machine|machines destroy|update|stop|remove|rm
deploy bazel run *deploy*|*.apply
deploy ko apply|resolve
deploy shopify app deploy
deploy sf|sfdx project deploy
infrastructure nixos-rebuild switch|boot
deploy eb deploy|terminate|create
deploy sam deploy|delete
deploy railway up|deploy|down
deploy render deploys|services create
deploy surge *
deploy cap * deploy*
deploy mina|fab|nixops deploy*
deploy kamal deploy|setup|redeploy|rollback|remove
deploy dokku ps:rebuild|apps:destroy
deploy ng deploy
deploy astro|nuxt|sanity|gatsby|ember|meteor|caprover|coolify|okteto|garden|devspace|juju|bosh|spin|fermyon|near|dfx|anchor|kapp deploy
deploy hardhat run *deploy*
deploy hardhat deploy
deploy forge script --broadcast
deploy forge create
deploy solana program deploy
deploy truffle migrate
deploy cast send
deploy sfdx force:source:deploy|force:org:delete
deploy func azure functionapp publish
deploy tanka|tk apply|delete
deploy fastly compute publish|deploy
publish wasmer|wapm publish
publish code-push release*
publish appcenter codepush release*
infrastructure kops update|delete|replace --yes
infrastructure rke up|remove
infrastructure talosctl reset|apply-config
infrastructure juju destroy-*
infrastructure kubeadm reset
infrastructure kn service create|update|delete
deploy gh-pages -d|--dist
deploy ghp-import -p|--push
deploy mkdocs|mike gh-deploy|deploy
deploy amplify push|publish|delete
deploy supabase functions deploy
deploy convex deploy
deploy sst deploy|remove
deploy copilot deploy
deploy skaffold run|deploy|delete
deploy argocd app sync|delete|rollback
deploy flux reconcile|delete|suspend
deploy nomad job run|stop
deploy nomad run|stop
deploy waypoint up|deploy
deploy pm2 deploy
deploy hugo deploy
deploy modal|prefect deploy
deploy deployctl deploy
deploy clasp deploy
deploy zappa deploy|update|undeploy
deploy chalice deploy|delete
deploy octo deploy-release
deploy werf converge|dismiss
migrate prisma migrate deploy|reset|resolve
migrate prisma db push|execute
migrate rails|bin/rails db:migrate|db:migrate:up|db:migrate:down|db:migrate:redo|db:migrate:reset|db:rollback|db:schema:load|db:setup
migrate rake db:migrate|db:migrate:up|db:migrate:down|db:migrate:redo|db:migrate:reset|db:rollback|db:schema:load|db:setup
migrate alembic upgrade|downgrade|stamp
migrate flask db upgrade|downgrade|stamp
migrate manage.py|django-admin migrate
migrate python* manage.py migrate
migrate flyway migrate|repair|undo|baseline
migrate liquibase update*|rollback*
migrate knex migrate:latest|migrate:up|migrate:down|migrate:rollback
migrate sequelize|sequelize-cli db:migrate|db:migrate:undo
migrate typeorm* migration:run|migration:revert|schema:sync
migrate drizzle-kit push|migrate|push:*
migrate mikro-orm migration:up|migration:down|schema:update
migrate goose up*|down*|redo|reset
migrate goose * * up*|down*|redo|reset
migrate dbmate up|migrate|down|rollback
migrate sqlx migrate run|revert
migrate sea-orm-cli migrate up|down|fresh|refresh|reset
migrate diesel migration run|revert|redo
migrate migrate up|down|goto|force|drop
migrate atlas migrate|schema apply
migrate artisan migrate*
migrate php artisan migrate*
migrate dotnet ef database update
migrate mix ecto.migrate|ecto.rollback
migrate node-pg-migrate up|down|redo
migrate db-migrate up|down|reset
migrate wrangler d1 migrations apply --remote
migrate django migrate
migrate typeorm-ts-node-commonjs|typeorm-ts-node-esm migration:run|migration:revert|schema:sync
migrate supabase db push
migrate supabase migration up
migrate sqitch deploy|revert|rebase
migrate wp db import
migrate refinery migrate
migrate yoyo apply|rollback|reapply
migrate graphile-migrate migrate|reset
migrate hasura migrate apply
publish npm|pnpm|bun publish|pub|unpublish|deprecate
publish yarn workspaces foreach npm publish
publish lerna version --yes
publish buf push
publish pack build --publish
publish docker buildx bake --push
publish npm|pnpm dist-tag add|rm
publish npm|pnpm owner|access|token
publish yarn publish
publish yarn npm publish|tag
publish lerna publish
publish changeset publish
publish changesets publish
publish changeset|changesets|cli publish
publish semantic-release
publish release-it
publish np
publish rake release
publish rye publish
force-push hg|sl push -f|--force
infrastructure glab api -X|--method
publish cargo publish|yank|owner
publish cargo release --execute|-x
publish gem push|yank|owner
publish twine upload
publish poetry|uv|flit|hatch|pdm|maturin|wasm-pack publish
publish maturin upload
publish python* -m twine upload
publish setup.py upload|register
publish setup.py sdist|bdist_wheel upload
publish setup.py sdist bdist_wheel upload
publish python* setup.py upload
publish python* setup.py sdist|bdist_wheel upload
publish python* setup.py sdist bdist_wheel upload
publish mvn|mvnw deploy|release:perform|deploy:deploy*
publish mvn|mvnw clean deploy
publish mvn|mvnw clean install deploy
publish mvn|mvnw install deploy
publish mvn|gradle|gradlew jib:build|jib
publish gradle|gradlew publish|publishToMavenCentral|publishToSonatype|publishPlugins|publishAll*|uploadArchives
publish sbt publish|publishSigned|sonatypeRelease|release
publish dotnet nuget push|delete
publish nuget push|delete
publish pod trunk push|delete|deprecate
publish mix hex.publish
publish dart|flutter pub publish
publish vsce|ovsx publish|unpublish
publish gh release create|upload|edit|delete
publish gh repo create|delete|rename|archive
publish glab release create|delete
publish goreleaser release
publish jsr publish
publish deno publish
publish helm push
publish oras|crane push
publish crane copy|delete|tag
publish skopeo copy|delete|sync
publish conda upload
publish anaconda upload
publish luarocks upload
publish opam publish
publish snapcraft upload|release|push
publish fastlane deliver|pilot|supply|release|beta|deploy
publish eas submit|update
publish expo publish|upload
publish composer publish
publish elm publish
publish spago publish
publish cabal upload
publish stack upload
publish tfx extension publish
publish web-ext sign
publish chrome-webstore-upload upload
infrastructure docker|podman|nerdctl|buildah push
infrastructure docker image|manifest push
infrastructure docker compose push
infrastructure docker-compose push
infrastructure docker buildx build --push
infrastructure docker build --push
infrastructure docker stack deploy|rm
infrastructure docker service create|update|rm|scale|rollback
infrastructure docker swarm init|join|leave|update
infrastructure terraform|tofu|terragrunt apply|destroy|import|taint|untaint|force-unlock
infrastructure terraform|tofu|terragrunt state rm|mv|push|replace-provider
infrastructure terraform|tofu workspace delete
infrastructure terragrunt run-all apply|destroy
infrastructure terragrunt run --
infrastructure pulumi up|update|destroy|refresh|import|cancel
infrastructure pulumi state delete
infrastructure pulumi stack rm
infrastructure kubectl|oc|k apply|delete|create|replace|patch|edit|scale|set|drain|cordon|uncordon|taint|label|annotate|expose|run|autoscale|cp|evict
infrastructure kubectl|oc|k rollout restart|undo|pause|resume
infrastructure oc new-app|start-build|adm|process
infrastructure kustomize deploy
infrastructure helm upgrade|install|uninstall|rollback|delete|del
infrastructure helmfile apply|sync|destroy|delete
infrastructure ansible-playbook|ansible|ansible-pull *
infrastructure salt|salt-ssh *
infrastructure chef-client
infrastructure puppet apply|agent
infrastructure knife bootstrap|ssh
infrastructure eksctl create|delete|scale|upgrade
infrastructure packer build
infrastructure vault write|delete|kv
infrastructure consul kv put|delete
infrastructure doctl * * create|delete|update
infrastructure doctl * create|delete|update
infrastructure hcloud * create|delete|rebuild|poweroff
infrastructure nomad system gc
infrastructure systemctl poweroff|reboot|halt
infrastructure shutdown|reboot|poweroff|halt
infrastructure gh secret|variable set|delete|remove
infrastructure gh repo edit|transfer
infrastructure gh ssh-key|gpg-key|deploy-key add|delete
infrastructure wrangler secret put|delete|bulk
infrastructure wrangler kv|kv:key|kv:namespace|r2|queues delete|put|bulk
infrastructure wrangler kv|r2 key|namespace|object|bucket delete|put
infrastructure az webapp|functionapp deployment source
infrastructure flux bootstrap
infrastructure istioctl|linkerd|velero install|uninstall|restore
infrastructure doctl apps create-deployment
infrastructure linode-cli|vultr-cli|scw|ionos * delete|create
infrastructure scw * * delete|create
infrastructure vagrant destroy
infrastructure multipass delete|purge
infrastructure kubectl|oc argo rollouts promote|abort|undo
infrastructure kubectl-argo-rollouts promote|abort|undo
infrastructure oc rollout latest
infrastructure argocd app set|create
infrastructure zfs|zpool destroy
infrastructure lvremove|vgremove|pvremove *
infrastructure btrfs subvolume delete
infrastructure parted|fdisk|sfdisk /dev/*
infrastructure diskutil erase*|partitionDisk
infrastructure etcdctl del
infrastructure userdel *
infrastructure iptables|ip6tables -F|--flush
infrastructure ufw disable|reset
infrastructure passwd -d|-l
infrastructure fly|flyctl secrets set|unset
infrastructure heroku config:set|config:unset
infrastructure vercel env add|rm
drop-data dropdb *
drop-data pg_restore -c|--clean
drop-data mongorestore --drop
drop-data wrangler d1 delete
drop-data rabbitmqctl delete_queue|purge_queue|reset
drop-data nats stream rm|purge
drop-data restic forget --prune
drop-data mysqladmin drop
drop-data rails|bin/rails|rake db:drop*|db:reset|db:purge|db:truncate_all
drop-data prisma migrate reset
drop-data prisma db push --force-reset|--accept-data-loss
drop-data php artisan migrate:fresh|migrate:reset|migrate:refresh|db:wipe
drop-data artisan migrate:fresh|migrate:reset|migrate:refresh|db:wipe
drop-data manage.py flush|reset_db|sqlflush
drop-data python* manage.py flush|reset_db
drop-data flyway clean
drop-data dbmate drop
drop-data sqlx database drop|reset
drop-data diesel database reset
drop-data mix ecto.drop|ecto.reset
drop-data liquibase drop-all|dropAll
drop-data supabase db reset --linked|--db-url
drop-data wp db reset|drop|clean
drop-data sequelize|sequelize-cli db:drop|db:migrate:undo:all
drop-data typeorm* schema:drop
drop-data dotnet ef database drop
drop-data sea-orm-cli migrate fresh|reset
drop-data migrate drop
drop-data bq rm
drop-data mc rb|rm --recursive|--force|-r
drop-data influx delete
drop-data kafka-topics|kafka-topics.sh --delete
drop-data docker|podman volume rm|prune
secrets aws secretsmanager get-secret-value|batch-get-secret-value
secrets aws ssm get-parameter* --with-decryption
secrets aws configure get|export-credentials
secrets aws ecr get-login-password
secrets aws sts get-session-token|assume-role
secrets gcloud secrets versions access
secrets gcloud auth print-*|application-default
secrets az keyvault secret show|download
secrets az account get-access-token
secrets vault read|token
secrets vault kv get
secrets op read|item
secrets bw get
secrets pass show
secrets security find-generic-password|find-internet-password|dump-keychain
secrets gh auth token
secrets gh auth status --show-token|-t
secrets git credential fill
secrets heroku config|config:get
secrets vercel env pull
secrets doppler secrets
secrets kubectl|oc|k get secret|secrets|secret/*
secrets kubectl|oc|k view-secret
secrets sops -d|--decrypt
secrets sops decrypt
secrets ansible-vault view|decrypt
secrets gpg --export-secret-keys|--export-secret-key
secrets secret-tool lookup
secrets kubectl|oc|k config view --raw
secrets docker|podman|docker-compose compose config
secrets docker-compose config
secrets printenv *_TOKEN|*_KEY|*PASSWORD|*SECRET|*_PAT|*PASSWD|TOKEN
unreadable claude|claude-code --dangerously-skip-permissions|--allow-dangerously-skip-permissions|--settings|--permission-mode
unreadable codex --yolo|--dangerously-bypass-approvals-and-sandbox|--full-auto|--dangerously-bypass-hook-trust
unreadable codex exec --sandbox
unreadable gemini|qwen --yolo|-y|--approval-mode
unreadable aider --yes-always|--yes
unreadable cursor-agent --force|-f
unreadable copilot --allow-all-tools|--allow-all
unreadable amp --dangerously-allow-all
unreadable opencode run --dangerously-skip-permissions
`
