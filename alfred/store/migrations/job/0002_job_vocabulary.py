"""The first shared vocabulary: cities and skills with their Chinese and English names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alembic import op
from sqlalchemy import ColumnClause, column, table

from alfred.engine.canonical import derive_id
from alfred.engine.writer import SHARED_USER

revision = "0002_job_vocabulary"
down_revision = "0001_job"
branch_labels = None
depends_on = None

LOCATIONS = """
Hong Kong | HK | 香港; hk; hksar; hong kong sar; 香港特别行政区; hong kong, china; 中国香港
Macau | MO | 澳门; macao; 澳门特别行政区
Taipei | TW | 台北; 臺北; 台北市; 臺北市
Beijing | CN | 北京; 北京市; beijing, china
Shanghai | CN | 上海; 上海市; shanghai, china
Shenzhen | CN | 深圳; 深圳市; 广东深圳; shenzhen, china
Guangzhou | CN | 广州; 广州市; 广东广州; guangzhou, china
Hangzhou | CN | 杭州; 杭州市; 浙江杭州; hangzhou, china
Nanjing | CN | 南京; 南京市; 江苏南京
Suzhou | CN | 苏州; 苏州市; 江苏苏州
Chengdu | CN | 成都; 成都市; 四川成都
Chongqing | CN | 重庆; 重庆市
Wuhan | CN | 武汉; 武汉市; 湖北武汉
Xi'an | CN | 西安; 西安市; xi’an; xian; 陕西西安
Xiamen | CN | 厦门; 厦门市; 福建厦门
Tianjin | CN | 天津; 天津市
Singapore | SG | 新加坡
Tokyo | JP | 东京; 東京
Seoul | KR | 首尔
Sydney | AU | 悉尼
London | GB | 伦敦; london, uk; london, united kingdom
Dublin | IE | 都柏林; dublin, ireland
Berlin | DE | 柏林; berlin, germany
Munich | DE | 慕尼黑; münchen; munich, germany
Zurich | CH | 苏黎世; zürich
Paris | FR | 巴黎; paris, france
Amsterdam | NL | 阿姆斯特丹
New York | US | 纽约; nyc; new york city; new york, ny
San Francisco | US | 旧金山; sf; san francisco, ca
Seattle | US | 西雅图; seattle, wa
Toronto | CA | 多伦多
Remote | | 远程; 远程办公; 居家办公; telecommute; work from home; fully remote
"""
SKILLS = """
Python |
Java |
JavaScript | js
TypeScript | ts
Go | golang; go 语言; go语言
Rust |
C++ | cpp
C# | csharp
SQL |
PostgreSQL | postgres; pg
MySQL |
Redis |
Kafka | apache kafka
Docker |
Kubernetes | k8s
Linux |
Git |
React | react.js; reactjs
Vue | vue.js; vuejs
AWS | amazon web services
Excel | microsoft excel
Machine learning | 机器学习; ml
Deep learning | 深度学习
Natural language processing | 自然语言处理; nlp
Data analysis | 数据分析
Project management | 项目管理
Product design | 产品设计
Communication | 沟通能力; communication skills
English | 英语
Mandarin | 普通话; 国语; putonghua
Cantonese | 粤语; 广东话
"""
"""One row a line: name | country (ISO 3166, places only) | other names, as keys, between `;`."""


def upgrade() -> None:
    for line in LOCATIONS.strip().splitlines():
        name, country, others = (part.strip() for part in line.split("|"))
        add("location", {"name": name, "country": country or None}, others)
    for line in SKILLS.strip().splitlines():
        name, others = (part.strip() for part in line.split("|"))
        add("skill", {"name": name}, others)


def downgrade() -> None:
    for name in ("location_alias", "skill_alias", "location", "skill"):
        everybodys = column("user_id") == SHARED_USER
        op.get_bind().execute(table(name).delete().where(everybodys))


def add(kind: str, values: Mapping[str, str | None], others: str) -> None:
    """Insert a row of everybody's vocabulary and all names under which it is found."""
    name = str(values["name"])
    key = name.casefold()
    row_id = derive_id(SHARED_USER, kind, key)
    insert(kind, {**values, "id": row_id, "name_key": key})
    aliases = [key, *(other.strip() for other in others.split(";") if other.strip())]
    for alias in aliases:
        alias_id = derive_id(SHARED_USER, f"{kind}_alias", alias)
        owner = {f"{kind}_id": row_id, f"{kind}_user_id": SHARED_USER}
        insert(f"{kind}_alias", {"id": alias_id, "alias_key": alias, **owner})


def insert(name: str, values: Mapping[str, object]) -> None:
    full = {"user_id": SHARED_USER, **values}
    columns: list[ColumnClause[Any]] = [column(field) for field in full]
    target = table(name, *columns)
    op.get_bind().execute(target.insert(), full)
